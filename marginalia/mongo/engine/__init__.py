"""The database engine for Django's DATABASES setting: django-mongodb-backend with extensions for this project."""
