from django.apps import AppConfig


class ReaderConfig(AppConfig):
    name = "reader"

    def ready(self) -> None:
        from reader import purging  # noqa: F401 - registers the worker's task that purges CDNs
