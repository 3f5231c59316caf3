"""The comments of imported posts: preparing threads and storing comments."""
