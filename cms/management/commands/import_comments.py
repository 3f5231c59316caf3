"""`manage.py import_comments`: the command of the comments app, but it reads the site's settings only once.

Rendering a comment needs the language of the site.
"""

from typing import Any

from marginalia.comments.management.commands import import_comments
from nodes.models import stored_site


class Command(import_comments.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with stored_site.read_once():
            super().handle(*args, **options)
