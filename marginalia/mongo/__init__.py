"""The lowest layer above MongoDB: the database engine, and collections that are declared as data."""
