"""The lowest layer above MongoDB: the database engine, and the declarations of collections."""
