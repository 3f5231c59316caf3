"""Handle outages of the comments database.

If a project stores its own data in another database, its pages still work during such an outage.
"""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS

from marginalia.comments import conf
from marginalia.mongo.servers import Outage, outage_after

# Maximum number of seconds that a page waits for comments.
PATIENCE = 2.0
AWAY = "comments_are_away"


@contextmanager
def limit_waiting(shared: MutableMapping[Any, Any]) -> Iterator[None]:
    """Limit the time of reads in the block to PATIENCE seconds.

    No limit applies if the project's own data is in the same database, because the page needs this database anyway.

    Args:
        shared: A mapping that all tags of a page share. After the first outage, it makes later blocks of the page fail
            immediately.

    Raises:
        Outage: The database did not respond in time, or an earlier block of the page failed.
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
