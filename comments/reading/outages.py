"""A page of a project whose own data is elsewhere: it is shown without comments while their database is away."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS

from marginalia.comments import conf
from marginalia.mongo.servers import Outage, outage_after

# Seconds that a page waits for comments.
PATIENCE = 2.0
AWAY = "comments_are_away"


@contextmanager
def noted(shared: MutableMapping[Any, Any]) -> Iterator[None]:
    """Have what is read in the block wait for PATIENCE at most. Raises Outage: at once where `shared`, a mapping that the tags
    of a page share, tells of one. Where the project's own data is in the same database, its page fails as it would without
    comments."""
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
