"""Count how often readers use redirects.

Requests only add to a counter in memory. A timer in each process writes the counts a few seconds later, so that a
popular redirect doesn't cause a write per request. If a process crashes, the hits of these seconds are lost.
"""

import logging
import threading
from collections import Counter

from pymongo.errors import PyMongoError

from nodes.services import manual_redirects

# Number of seconds between the first hit and the write.
DELAY = 10.0

logger = logging.getLogger(__name__)
_lock = threading.Lock()
_hits: Counter[str] = Counter()


def record(url: str) -> None:
    """Count a hit of the redirect from a normalized URL."""
    with _lock:
        is_first = not _hits
        _hits[url] += 1
    if is_first:
        timer = threading.Timer(DELAY, write)
        timer.daemon = True
        timer.start()


def clear() -> None:
    """Forget the hits that haven't been written, as if the process had just started."""
    with _lock:
        _hits.clear()


def write() -> None:
    """Write the hits that have been counted since the last write."""
    with _lock:
        hits = dict(_hits)
        _hits.clear()
    try:
        manual_redirects.add_hits(hits)
    except PyMongoError as error:
        logger.warning("The hits of %d redirects were not counted: %s", len(hits), type(error).__name__)
