from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PhotosConfig(AppConfig):
    name = "photos"
    verbose_name = _("Photos")

    def ready(self) -> None:
        from photos import checking, checks  # noqa: F401 - register themselves
        from photos.services import copies, deletion  # noqa: F401 - register what the worker does, and what a deletion takes along
