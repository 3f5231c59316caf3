from django.apps import AppConfig


class EditorConfig(AppConfig):
    name = "editor"

    def ready(self) -> None:
        from editor import checks  # noqa: F401 - imported to register itself
