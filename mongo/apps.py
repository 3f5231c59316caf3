from importlib import import_module

from django.apps import AppConfig


class MongoConfig(AppConfig):
    name = "mongo"
    verbose_name = "MongoDB"

    def ready(self) -> None:
        import_module("mongo.checks")
