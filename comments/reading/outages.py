"""A page of a project whose own data is elsewhere: it is shown without comments while their database is away."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS

from comments import conf
from mongo.connection import Outage, within

# Seconds that a page waits for comments.
PATIENCE = 2.0
AWAY = "comments_are_away"
T = TypeVar("T")


def reading(work: Callable[[], T], seen: Any) -> T:
    """Return what `work` reads, within PATIENCE. Raises Outage: at once where `seen`, a mapping that the tags of a page share,
    tells of one. Where the project's own data is in the same database, its page fails as it would without comments."""
    if conf.database_alias() == DEFAULT_DB_ALIAS:
        return work()
    if AWAY in seen:
        raise Outage
    try:
        with within(PATIENCE):
            return work()
    except Outage:
        seen[AWAY] = True
        raise
