"""The lowest layer on MongoDB: the database engine, and collections declared as data."""
