"""Import of pictures: find them in a folder or download them from the old site, and store them in a gallery."""
