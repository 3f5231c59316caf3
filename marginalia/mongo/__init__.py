"""The layer directly above MongoDB: the database engine, and the declarations of collections."""
