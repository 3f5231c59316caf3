from django.apps import AppConfig


class MongoConfig(AppConfig):
    name = "mongo"
    verbose_name = "MongoDB"
