"""Two texts compared: their differences word by word, and three-way merges by paragraph."""
