"""Writes: posting, changing, importing, erasing, and the moderation queue."""
