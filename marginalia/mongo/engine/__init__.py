"""The database engine for Django's settings: django-mongodb-backend with extensions for this project."""
