"""`manage.py shell`: Django's command, which also imports content types, actions and the database."""

from django.core.management.commands import shell

from cms.shell_imports import IMPORTS
from nodes.content import registry


class Command(shell.Command):
    def get_auto_imports(self) -> list[str]:
        """Return the paths of all names that the shell imports."""
        types = [f"{type.__module__}.{type.__name__}" for type in registry.types()]
        return [*super().get_auto_imports(), *IMPORTS, *types]
