"""Outages of the comments' database: pages of a project with another database are shown without comments."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS

from marginalia.comments import conf
from marginalia.mongo.servers import Outage, outage_after

# Maximum seconds that a page waits for comments.
PATIENCE = 2.0
AWAY = "comments_are_away"


@contextmanager
def limit_waiting(shared: MutableMapping[Any, Any]) -> Iterator[None]:
    """Limit the reads in the block to PATIENCE seconds. Raises Outage.

    `shared` is a mapping that all tags of a page share. After the first outage, later blocks of the page raise
    Outage immediately.
    If the project's own data is in the same database, the block sets no limit: the page fails as it would without
    comments.
    """
    if conf.database_alias() == DEFAULT_DB_ALIAS:
        yield
        return
    if AWAY in shared:
        raise Outage
    try:
        with outage_after(PATIENCE, conf.database_alias()):
            yield
    except Outage:
        shared[AWAY] = True
        raise
