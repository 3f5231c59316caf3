"""The moderation queue of pending comments."""
