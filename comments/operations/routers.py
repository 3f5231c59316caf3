"""A router for DATABASE_ROUTERS of a project whose own data is in another database than its comments."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS

from marginalia.comments import conf


class CommentsRouter:
    """Prevents migrations in the database of the comments, because it contains no tables."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        """Return False for that database, None (no opinion) for any other."""
        return False if db == conf.database_alias() != DEFAULT_DB_ALIAS else None
