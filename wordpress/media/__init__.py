"""The pictures of the old site: found in a folder or downloaded, and stored in a gallery."""
