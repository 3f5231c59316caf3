"""The storage of discussions, and the only entrance to it: `backend()`, whose contract is `base.Backend`; the storage layouts,
whose attributes say what each can do; and what COMMENTS chooses of them.
"""

import threading

from marginalia.comments import conf
from marginalia.comments.backends.base import Backend
from marginalia.comments.backends.discussions import VERSIONS
from marginalia.comments.backends.layouts import bucket_size, layout_classes, may_embed, may_keep, storage
from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.mongo.connection import database

__all__ = ["VERSIONS", "backend", "backends", "bucket_size", "layout_classes", "may_embed", "may_keep", "storage"]


class Backends(threading.local):
    """The back ends on MongoDB by the alias of Django's connection, as `caches` has caches: each thread has its own, as it has
    connections."""

    def __init__(self) -> None:
        self._made = dict[str, MongoBackend]()

    def __getitem__(self, alias: str) -> Backend:
        db = database(alias)
        made = self._made.get(alias)
        if made is None or made.store.db is not db:
            made = self._made[alias] = MongoBackend(db)
        return made


backends = Backends()


def backend() -> Backend:
    """Return the back end on the database that COMMENTS["DATABASE"] names, whatever layouts its discussions are kept in."""
    return backends[conf.database_alias()]
