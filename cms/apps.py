from django.apps import AppConfig


class CmsConfig(AppConfig):
    name = "cms"
    verbose_name = "Site"

    def ready(self) -> None:
        """Tie the apps to each other."""
        import cms.accounts.password_mail  # noqa: F401 - registers what sends the mails
        import cms.serving.checks  # noqa: F401 - registers them
        from cms import comments

        comments.register()
