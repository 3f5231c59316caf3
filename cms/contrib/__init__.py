"""Django's admin, auth and contenttypes apps with ObjectId keys, and migrations for these apps."""
