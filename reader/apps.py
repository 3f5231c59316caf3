from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ReaderConfig(AppConfig):
    name = "reader"
    verbose_name = _("Public pages")

    def ready(self) -> None:
        from reader import purging  # noqa: F401 - registers what the worker does
