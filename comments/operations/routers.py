"""A database router for projects whose comments are in another database than their own data."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS

from marginalia.comments import conf


class CommentsRouter:
    """Prevents migrations in the database of the comments, which contains no tables."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        """Return False for the database of the comments, and None (no opinion) for any other."""
        return False if db == conf.database_alias() != DEFAULT_DB_ALIAS else None
