"""The comments of imported posts: prepare threads, and store comments."""
