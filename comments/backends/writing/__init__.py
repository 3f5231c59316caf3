"""Writes: posts, changes, what waits for moderators, imports, and the erasing of authors."""
