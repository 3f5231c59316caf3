"""Storage for discussions. Other packages call `backend()`, which returns an implementation of `base.Backend`.

This package also contains the storage layouts. The COMMENTS setting determines which layout a discussion uses.
"""

import threading

from marginalia.comments import conf
from marginalia.comments.backends.base import Backend
from marginalia.comments.backends.discussions import VERSIONS
from marginalia.comments.backends.layouts import bucket_size, can_store, layout_classes, may_embed, storage
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.backends.stored import read_version
from marginalia.mongo.connection import database

__all__ = [
    "VERSIONS",
    "backend",
    "backends",
    "bucket_size",
    "can_store",
    "layout_classes",
    "may_embed",
    "read_version",
    "storage",
]


class Backends(threading.local):
    """The backends, keyed by database alias. As with Django's `caches`, each thread has its own instances."""

    def __init__(self) -> None:
        self._made = dict[str, MongoBackend]()

    def __getitem__(self, alias: str) -> Backend:
        db = database(alias)
        cached = self._made.get(alias)
        if cached is None or cached.store.db is not db:
            cached = self._made[alias] = MongoBackend(db)
        return cached


backends = Backends()


def backend() -> Backend:
    """Return the backend for the database that COMMENTS["DATABASE"] specifies."""
    return backends[conf.database_alias()]
