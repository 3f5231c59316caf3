"""Functions that compare text word by word, and that merge text paragraph by paragraph (three-way merge)."""
