from django.apps import AppConfig


class CmsConfig(AppConfig):
    name = "cms"
    verbose_name = "Site"

    def ready(self) -> None:
        """Register job handlers and system checks, and connect the comments app to nodes."""
        import cms.accounts.password_reset_email  # noqa: F401 - registers the job handler
        import cms.serving.checks  # noqa: F401 - registers the checks
        from cms import comments

        comments.register()
