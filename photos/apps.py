from django.apps import AppConfig


class PhotosConfig(AppConfig):
    name = "photos"

    def ready(self) -> None:
        from photos import checks, integrity  # noqa: F401 - imported because they register checks
        from photos.services import copies, deletion  # noqa: F401 - register a job and signal receivers
