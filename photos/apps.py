from django.apps import AppConfig


class PhotosConfig(AppConfig):
    name = "photos"

    def ready(self) -> None:
        from photos import checks, integrity  # noqa: F401 - register themselves
        from photos.services import copies, deletion  # noqa: F401 - register a job of the worker, and a signal receiver
