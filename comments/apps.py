from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CommentsConfig(AppConfig):
    name = "marginalia.comments"
    label = "marginalia_comments"
    verbose_name = _("Comments")

    def ready(self) -> None:
        """Register the system checks, and the background tasks: emails, conversions and bulk decisions."""
        from marginalia.comments import checks  # noqa: F401
        from marginalia.comments.moderation import batches  # noqa: F401
        from marginalia.comments.notices import mails  # noqa: F401
        from marginalia.comments.operations import converting  # noqa: F401
