"""The database engine of Django's settings: django-mongodb-backend extended by the features that this project needs."""
