"""Keep pages working during an outage of the comments database.

This is possible only if a project stores its own data in another database.
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

# A page waits at most this many seconds for comments.
PATIENCE = 2.0
# A reader who has sent a form has to wait at most this many seconds.
FORM_PATIENCE = 10.0
# After an outage, this process doesn't try to read comments for this many seconds.
PAUSE = 5.0
AWAY = "comments_are_away"
# The time, on the monotonic clock, at which this process tries again, keyed by connection alias.
_retry_at: dict[str, float] = {}


@contextmanager
def limit_waiting(shared: MutableMapping[Any, Any], seconds: float = PATIENCE) -> Iterator[None]:
    """Limit the time that database commands in the `with` block can take.

    If an outage is detected, all such blocks in this process fail immediately for PAUSE seconds. There is no limit if
    the project's own data is in the same database, because the page can't be shown without this database anyway.

    Args:
        shared: A mapping that all template tags on a page share. Once a block has failed, all later blocks on the same
            page fail immediately.
        seconds: The time limit in seconds.

    Raises:
        Outage: The database did not respond in time, or an earlier block has failed.
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
    """Wrap `view` so that it raises Outage if the comments database does not respond in time."""

    @wraps(view)
    def limited_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with limit_waiting({}, FORM_PATIENCE if request.method == "POST" else PATIENCE):
            return view(request, *args, **kwargs)

    return limited_view
