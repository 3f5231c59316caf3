"""The old site's pictures: find them in a folder, download them, and store them in a gallery."""
