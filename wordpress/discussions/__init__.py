"""The comments of imported posts: preparing their threads and storing them."""
