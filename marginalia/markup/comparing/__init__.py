"""Comparison of texts: differences by word, and three-way merges by paragraph."""
