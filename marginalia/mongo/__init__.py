"""The lowest layer on MongoDB: the database engine, collections declared as data."""
