"""The storage of discussions, and the only entrance to it: `backend()`, whose contract is `base.Backend`; the storage layouts,
whose attributes say what each can do; and what COMMENTS chooses of them.

`backends["default"]` is made once a thread, as connections are, of what COMMENTS["DATABASE"] names; anew when that changes.
"""

import threading
from typing import Any

from django.core.signals import setting_changed

from comments import conf
from comments.backends.base import Backend
from comments.backends.discussions import VERSIONS
from comments.backends.layouts import bucket_size, layout_classes, may_embed, storage
from comments.backends.mongodb import MongoBackend
from mongo.connection import database

__all__ = ["VERSIONS", "backend", "backends", "bucket_size", "layout_classes", "may_embed", "storage"]

DEFAULT = "default"


class Backends:
    """The back ends by alias, each made when it is first asked for."""

    def __init__(self) -> None:
        self._made = threading.local()

    def __getitem__(self, alias: str) -> Backend:
        if alias != DEFAULT:
            raise KeyError(f"There is no back end {alias!r}.")
        db = database(conf.database_alias())
        made: tuple[Any, Backend] | None = getattr(self._made, alias, None)
        if made is None or made[0] is not db:
            made = db, MongoBackend(db)
            setattr(self._made, alias, made)
        return made[1]

    def reset(self, *, setting: str = "COMMENTS", **kwargs: Any) -> None:
        """Forget the back ends: they are made anew."""
        if setting == "COMMENTS":
            self._made = threading.local()


backends = Backends()
setting_changed.connect(backends.reset)


def backend() -> Backend:
    """Return the back end in use: the one on MongoDB, whatever layouts its discussions are kept in."""
    return backends[DEFAULT]
