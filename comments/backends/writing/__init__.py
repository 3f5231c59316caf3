"""Write operations: posting, changing, importing and erasing comments, and the moderation queue."""
