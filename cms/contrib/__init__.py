"""Django's own apps with ObjectId keys, and their migrations."""
