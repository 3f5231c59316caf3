"""The admin pages on which content is written, listed, moved and compared."""
