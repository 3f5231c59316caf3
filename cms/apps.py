from zoneinfo import ZoneInfo

from django.apps import AppConfig


class CmsConfig(AppConfig):
    name = "cms"
    verbose_name = "Site"

    def ready(self) -> None:
        """Register job handlers and checks, connect the comments app to nodes, and set the time zone of schedules."""
        import cms.accounts.invitations
        import cms.accounts.password_reset_email  # noqa: F401 - both modules register job handlers
        import cms.serving.checks  # noqa: F401 - registers the checks
        from cms import comments
        from marginalia.tasks import scheduling
        from nodes.models import stored_site

        comments.register()
        scheduling.use_time_zone(lambda: ZoneInfo(stored_site.current().settings.time_zone))
