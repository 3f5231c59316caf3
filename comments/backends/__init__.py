"""The storage of discussions. Other packages use `backend()`, whose contract is `base.Backend`.

This package also contains the storage layouts and chooses among them as COMMENTS specifies.
"""

import threading

from marginalia.comments import conf
from marginalia.comments.backends.base import Backend
from marginalia.comments.backends.discussions import VERSIONS
from marginalia.comments.backends.layouts import bucket_size, can_store, layout_classes, may_embed, storage
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.mongo.connection import database

__all__ = ["VERSIONS", "backend", "backends", "bucket_size", "layout_classes", "may_embed", "can_store", "storage"]


class Backends(threading.local):
    """The back ends by alias of the database connection. Each thread has its own back ends, like Django's `caches`."""

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
    """Return the back end on the connection COMMENTS["DATABASE"]. It supports all layouts."""
    return backends[conf.database_alias()]
