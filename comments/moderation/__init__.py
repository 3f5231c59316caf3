"""Moderation: the queue of pending comments."""
