"""The old site's pictures: finding them in a folder, downloading them, and storing them in a gallery."""
