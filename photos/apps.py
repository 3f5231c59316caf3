from django.apps import AppConfig


class PhotosConfig(AppConfig):
    name = "photos"

    def ready(self) -> None:
        from photos import checks, integrity  # noqa: F401 - register themselves
        from photos.services import copies, deletion  # noqa: F401 - register what the worker does, and what a deletion takes along
