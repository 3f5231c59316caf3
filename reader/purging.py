"""The worker's task that purges outdated pages from CDNs and reverse-proxy caches by key.

The task follows the change stream and purges each cache twice. The first purge is sent immediately. The second purge is
sent once the cache can no longer receive pages that were rendered before the change. This works because
deploy/varnish.vcl doesn't store responses that took longer than MAX_RESPONSE_TIME. The position in the stream is stored
after the second purge. Therefore, if a purge fails or the worker crashes, the purge is sent again.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable
from contextlib import closing, suppress
from datetime import datetime, timedelta
from urllib.parse import quote

from bson import ObjectId
from django.conf import settings
from django.utils.module_loading import import_string
from pymongo.errors import PyMongoError
from pymongo.write_concern import WriteConcern

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database, time_limit
from marginalia.tasks import worker
from nodes.collections import NODES, SITE
from nodes.models.dependencies import Dependencies
from nodes.models.stored_site import SLOTS
from reader import change_stream
from reader.change_stream import DISCUSSIONS, ENDING_OPERATIONS, READ_TIMEOUT, HistoryLost
from reader.collections import PURGES

# Purge keys. All pages have the LISTS key, so a purge of this key purges all pages. Pages that depend on all tags have
# the TAGS key, and pages that show text from other nodes have the TEXTS key.
LISTS = "lists"
TAGS = "tags"
TEXTS = "texts"
# The following constants are in seconds.

# The maximum response time of a page that caches store.
MAX_RESPONSE_TIME = 0.35
# The delay between the first and the second purge. If the page cache's listener fails, a web server can serve the old
# page for half a second after the change (stamps.HEARD_WITHIN), and this response can take MAX_RESPONSE_TIME.
REPEAT_AFTER = 0.9
# Changes that occur within this time of each other are purged together.
BATCH_TIME = 0.05
RETRY_AFTER = 0.2
# How long a cache can serve a page before the cache must request the page again (reader.cdn.MAX_AGE).
MAX_PAGE_AGE = 60
# How often the position is stored. A new worker repeats at most the purges from one such interval.
STORE_INTERVAL = 5.0

logger = logging.getLogger(__name__)


def page_keys(nodes: Dependencies, discussions: Iterable[str]) -> list[str]:
    """Return the purge keys of a page that depends on `nodes` and `discussions`.

    Each change that affects the page purges at least one of these keys.
    """
    texts = [TEXTS] if nodes.texts else []
    tags = [TAGS] if nodes.slots == SLOTS else sorted(map(_slot_key, nodes.slots))
    own = [_node_key(nodes.own.id)] if nodes.own else []
    return [LISTS, *texts, *tags, *own, *map(_discussion_key, discussions)]


def outdated_keys(event: Document) -> set[str]:
    """Return the keys of the pages that an event in the change stream has made outdated."""
    if event["operationType"] in ENDING_OPERATIONS:
        return {LISTS}
    is_whole = event["operationType"] != "update"
    collection = event["ns"]["coll"]
    id = event["documentKey"]["_id"]
    fields = event["fields"]
    if collection == SITE:
        slots = {name.removeprefix("tags.") for name in fields if name.startswith("tags.")}
        tags = {TAGS, *map(_slot_key, slots)} if slots else set()
        return {LISTS} if is_whole or "lists" in fields else {*tags, *({TEXTS} & set(fields))}
    if collection == NODES:
        is_outdated = is_whole or any(name == "metadata.nonce" or name.startswith("metadata.tags") for name in fields)
        return {_node_key(id)} if is_outdated else set()
    if collection == DISCUSSIONS:
        # A write to a discussion changes `claims` when it begins, and `version` when it ends. Pages are outdated after
        # either change, because the second one can be lost if a server fails.
        is_outdated = is_whole or any(name.partition(".")[0] in ("version", "claims") for name in fields)
        return {_discussion_key(id)} if is_outdated else set()
    return set()


def _node_key(id: ObjectId) -> str:
    return f"node-{id}"


def _slot_key(slot: str) -> str:
    return f"{TAGS}-{slot}"


def _discussion_key(id: str) -> str:
    return f"discussion-{quote(id, safe=':')}"


def last_notified(cache: str) -> datetime | None:
    """Return the time when a cache's position was last stored, or None if no position has been stored."""
    stored = database()[PURGES].find_one({"_id": cache}, {"at": 1})
    return stored["at"] if stored else None


@worker.beside
def purge(stopping: threading.Event) -> None:
    """Purge the caches in CDN_PURGE_URLS until `stopping` is set.

    Each cache has its own thread, so that one cache that hangs doesn't delay the others.
    """
    threads = [
        threading.Thread(target=Purger(cache).run, args=(stopping,), daemon=True) for cache in settings.CDN_PURGE_URLS
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Purger:
    """Follows the change stream, and purges one cache.

    The function in the CDN_PURGER setting sends the purges. Its arguments are the cache's URL and the keys. It can
    raise any exception to report that a purge failed.
    """

    def __init__(self, cache: str) -> None:
        self.cache = cache
        self.is_failing = False
        # True if the stream can't be resumed from the stored position. In this case, all pages must be purged.
        self.is_lost = False

    def run(self, stopping: threading.Event) -> None:
        """Follow the change stream until `stopping` is set. After an error, resume from the stored position."""
        while not stopping.is_set():
            try:
                self._follow(stopping)
            except Exception as error:  # noqa: BLE001 - CDN_PURGER may raise anything
                self._log_failure(error)
                self.is_lost |= isinstance(error, HistoryLost)
            stopping.wait(RETRY_AFTER)

    def _follow(self, stopping: threading.Event) -> None:
        # Positions that are too old are ignored. No cache stores pages for that long, and reading hours of changes
        # would take too long.
        recent = {"_id": self.cache, "at": {"$gt": now() - timedelta(seconds=MAX_PAGE_AGE)}}
        with time_limit(READ_TIMEOUT):
            stored = None if self.is_lost else database()[PURGES].find_one(recent)
        start = stored["resume"] if stored else None
        # For each purge that has been sent only once: the time, the keys, and the position after the purged changes.
        purged: deque[tuple[float, set[str], Document]] = deque()
        keys = set() if stored else {LISTS}
        stored_at = time.monotonic()
        with closing(change_stream.follow(start, stopping, BATCH_TIME)) as batches:
            for batch in batches:
                keys = keys.union(*map(outdated_keys, batch.events))
                if keys:
                    self._purge(keys)
                    purged.append((time.monotonic(), keys, batch.position))
                    keys = set()
                position = None if purged else batch.position
                while purged and time.monotonic() > purged[0][0] + REPEAT_AFTER:
                    _purged_at, repeated_keys, position = purged.popleft()
                    self._purge(repeated_keys)
                if position and time.monotonic() > stored_at + STORE_INTERVAL:
                    self._store(position)
                    stored_at = time.monotonic()

    def _purge(self, keys: set[str]) -> None:
        import_string(settings.CDN_PURGER)(self.cache, {LISTS} if LISTS in keys else keys)
        if self.is_failing:
            logger.warning("%s receives purges again.", self.cache)
            self.is_failing = False

    def _log_failure(self, error: Exception) -> None:
        if not self.is_failing:
            logger.warning("%s doesn't receive purges: %s: %s", self.cache, type(error).__name__, error)
            self.is_failing = True

    def _store(self, position: Document) -> None:
        values = {"resume": position, "at": now()}
        # Purges must not wait until a majority of servers has stored the position. If this write fails, or is lost
        # because the primary fails, a later write stores a newer position. Metrics report the position's age.
        positions = database().get_collection(PURGES, write_concern=WriteConcern(w=1))
        with suppress(PyMongoError), time_limit(READ_TIMEOUT):
            positions.update_one({"_id": self.cache}, {"$set": values}, upsert=True)
            self.is_lost = False
