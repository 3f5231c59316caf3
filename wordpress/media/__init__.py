"""The pictures of the old site: finding them in a folder or downloading them, and storing them in a gallery."""
