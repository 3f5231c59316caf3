"""The storage of discussions, and the only entrance to it: `backend()`, whose contract is `base.Backend`; the storage layouts,
whose attributes say what each can do; and what COMMENTS chooses of them.
"""

import threading

from comments import conf
from comments.backends.base import Backend
from comments.backends.discussions import VERSIONS
from comments.backends.layouts import bucket_size, layout_classes, may_embed, storage
from comments.backends.mongodb import MongoBackend
from mongo.connection import database

__all__ = ["VERSIONS", "backend", "bucket_size", "layout_classes", "may_embed", "storage"]

_made = threading.local()


def backend() -> Backend:
    """Return the back end on MongoDB, whatever layouts its discussions are kept in. Each thread has its own, as it has
    connections: on the database that COMMENTS["DATABASE"] names."""
    db = database(conf.database_alias())
    if getattr(_made, "db", None) is not db:
        _made.db, _made.backend = db, MongoBackend(db)
    made: Backend = _made.backend
    return made
