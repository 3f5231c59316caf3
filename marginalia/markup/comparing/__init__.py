"""Functions that compare texts word by word, and three-way merge them paragraph by paragraph."""
