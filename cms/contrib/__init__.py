"""Django's admin, auth and contenttypes apps with ObjectId keys, and their migrations."""
