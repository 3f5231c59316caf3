from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ApiConfig(AppConfig):
    name = "api"
    verbose_name = _("API")

    def ready(self) -> None:
        from api import checks  # noqa: F401 - imported to register itself
        from api.changes import relay  # noqa: F401 - registers the relay with the worker
        from api.embed import pages
        from api.models import EmbeddedPage
        from marginalia import comments

        comments.register(EmbeddedPage, visible=pages.visible, at_urls=pages.at_urls)
