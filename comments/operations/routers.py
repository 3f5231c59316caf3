"""A database router for projects that store comments in a separate database."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS

from marginalia.comments import conf


class CommentsRouter:
    """A router that prevents migrations in the comments database, which contains no tables."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        """Return False for a separate comments database, and None (no opinion) for any other database."""
        return False if db == conf.database_alias() != DEFAULT_DB_ALIAS else None
