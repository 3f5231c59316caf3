"""Import of comments: sort the comments of a post into threads, and store them."""
