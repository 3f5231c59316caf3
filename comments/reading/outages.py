"""Handle outages of the comments database.

If a project stores its own data in another database, its pages still work during such an outage.
"""

import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.http import HttpRequest, HttpResponse

from marginalia.comments import conf
from marginalia.mongo.servers import Outage, outage_after

# Maximum number of seconds that a page waits for comments.
PATIENCE = 2.0
# Maximum number of seconds that a reader who sends a form waits.
FORM_PATIENCE = 10.0
# Number of seconds after an outage during which this process doesn't try to read comments again.
PAUSE = 5.0
AWAY = "comments_are_away"
# The monotonic time at which this process tries again, keyed by connection alias.
_retry_at: dict[str, float] = {}


@contextmanager
def limit_waiting(shared: MutableMapping[Any, Any], seconds: float = PATIENCE) -> Iterator[None]:
    """Limit the time that the database commands in the `with` block can take.

    After an outage, all blocks of this process fail immediately for PAUSE seconds. No limit applies if the project's
    own data is in the same database, because the page needs this database anyway.

    Args:
        shared: A mapping that all tags of a page share. After the first outage, later blocks on the same page fail
            immediately.
        seconds: The maximum number of seconds.

    Raises:
        Outage: The database did not respond in time, or an earlier block failed.
    """
    alias = conf.database_alias()
    if alias == DEFAULT_DB_ALIAS:
        yield
        return
    if AWAY in shared or time.monotonic() < _retry_at.get(alias, 0):
        raise Outage
    try:
        with outage_after(seconds, alias):
            yield
    except Outage:
        shared[AWAY] = True
        _retry_at[alias] = time.monotonic() + PAUSE
        raise


def limited(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Return a view that raises Outage if the comments database does not respond in time."""

    @wraps(view)
    def limited_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with limit_waiting({}, FORM_PATIENCE if request.method == "POST" else PATIENCE):
            return view(request, *args, **kwargs)

    return limited_view
