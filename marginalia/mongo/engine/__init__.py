"""The database engine of Django's settings: django-mongodb-backend with what this project found missing."""
