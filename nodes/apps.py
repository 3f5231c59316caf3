from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class NodesConfig(AppConfig):
    name = "nodes"
    verbose_name = _("Content")

    def ready(self) -> None:
        autodiscover_modules("content")
        from nodes import checks  # noqa: F401 - imported to register itself
        from nodes.services import scheduled, tags  # noqa: F401 - registers work of the worker
