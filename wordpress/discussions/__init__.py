"""The comments of imported posts: their threads, and storing them."""
