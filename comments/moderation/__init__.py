"""What moderators do: the queue of pending comments."""
