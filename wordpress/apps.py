from django.apps import AppConfig


class WordpressConfig(AppConfig):
    name = "wordpress"
    verbose_name = "WordPress import"
