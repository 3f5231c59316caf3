from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CommentsConfig(AppConfig):
    name = "comments"
    verbose_name = _("Comments")

    def ready(self) -> None:
        """Let the worker know what sends mails."""
        import comments.notices  # noqa: F401
