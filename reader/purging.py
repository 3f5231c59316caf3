"""What the worker does for caches in front of the site: it follows what makes a page old, and has them drop it by its keys.

Each cache is told twice: at once, and again after the longest time in which a page that was made before can still reach it
(deploy/varnish.vcl keeps none that took longer). Where the following goes on is stored after that: so what a cache did not
hear, or a worker that died did not say, is told again.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from urllib.parse import quote

from bson import ObjectId
from django.conf import settings
from django.utils.module_loading import import_string
from pymongo.change_stream import ChangeStream
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.write_concern import WriteConcern

from marginalia.mongo import jobs
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database, time_limit
from nodes.collections import NODES, SITE
from nodes.models.dependencies import Dependencies
from nodes.models.stored_site import SLOTS
from reader.change_stream import DISCUSSIONS, ENDS, LOST, PIPELINE
from reader.collections import PURGES

# What every page has, so that it stands for all; what a page has that shows any tag of other nodes, or any text.
LISTS = "lists"
TAGS = "tags"
TEXTS = "texts"
# Seconds. A page may take SLOWEST from the cache's question to its answer; what took longer is not kept there.
SLOWEST = 0.6
AGAIN = 0.75
# What changes within this time is told together.
GATHERED = 0.05
RETRY = 0.2
CLOSING = 0.1
# For one look at the stream, which takes GATHERED, or at the position, and for storing it: a primary that is ending may answer
# only when it has ended, one that fell silent never.
LOOKING = 0.4
# For how long a cache keeps a page that it may show without asking (reader.cdn).
KEPT = 60
# How old the stored position gets at most: so much is told again by a worker that begins.
MARKED = 5.0

logger = logging.getLogger(__name__)


def keys(nodes: Dependencies, discussions: Iterable[str]) -> list[str]:
    """Return the keys of a page that was made from these: of what makes it old, one is told."""
    texts = [TEXTS] if nodes.texts else []
    tags = [TAGS] if nodes.slots == SLOTS else sorted(map(_of_slot, nodes.slots))
    own = [_of_node(nodes.own.id)] if nodes.own else []
    return [LISTS, *texts, *tags, *own, *map(_of_discussion, discussions)]


def outdated(event: Document) -> set[str]:
    """Return the keys of the pages that an event of the change stream makes old."""
    if event["operationType"] in ENDS:
        return {LISTS}
    is_whole = event["operationType"] != "update"
    collection = event["ns"]["coll"]
    id = event["documentKey"]["_id"]
    fields = event["fields"]
    if collection == SITE:
        slots = {name.removeprefix("tags.") for name in fields if name.startswith("tags.")}
        tags = {TAGS, *map(_of_slot, slots)} if slots else set()
        return {LISTS} if is_whole or "lists" in fields else {*tags, *({TEXTS} & set(fields))}
    if collection == NODES:
        is_told = is_whole or any(name == "metadata.nonce" or name.startswith("metadata.tags") for name in fields)
        return {_of_node(id)} if is_told else set()
    if collection == DISCUSSIONS:
        # A claim too: a failing server may lose the version that comes after it.
        is_told = is_whole or any(name.partition(".")[0] in ("version", "claims") for name in fields)
        return {_of_discussion(id)} if is_told else set()
    return set()


def _of_node(id: ObjectId) -> str:
    return f"node-{id}"


def _of_slot(slot: str) -> str:
    return f"{TAGS}-{slot}"


def _of_discussion(id: str) -> str:
    return f"discussion-{quote(id, safe=':')}"


def heard(cache: str) -> datetime | None:
    """Return when it was last stored how far a cache has heard of changes, None if it never was."""
    stored = database()[PURGES].find_one({"_id": cache}, {"at": 1})
    return stored["at"] if stored else None


@jobs.beside
def purge(stopping: threading.Event) -> None:
    """Tell all caches that CDN_PURGE_URLS names until the event is set, each in a thread of its own: one that hangs keeps no
    other waiting."""
    tellers = [
        threading.Thread(target=Purger(cache).run, args=(stopping,), daemon=True) for cache in settings.CDN_PURGE_URLS
    ]
    for teller in tellers:
        teller.start()
    for teller in tellers:
        teller.join()


class Purger:
    """Tells one cache, by what CDN_PURGER names: a function of the cache's address and keys, which raises what it likes where
    the cache has not heard them."""

    def __init__(self, cache: str) -> None:
        self.cache = cache
        self.is_failing = False
        # Where the stored position leads nowhere any more: all pages are dropped.
        self.is_lost = False

    def run(self, stopping: threading.Event) -> None:
        """Follow until the event is set. What fails is tried again, from the stored position on."""
        while not stopping.is_set():
            try:
                self._follow(stopping)
            except Exception as error:  # noqa: BLE001 - what tells a cache of another make may raise anything
                self._failed(error)
                self.is_lost |= isinstance(error, OperationFailure) and error.code in LOST
            stopping.wait(RETRY)

    def _follow(self, stopping: threading.Event) -> None:
        # An older position is not gone on from: nothing is kept for so long, and a look over hours of changes would not end.
        recent = {"_id": self.cache, "at": {"$gt": now() - timedelta(seconds=KEPT)}}
        with time_limit(LOOKING):
            stored = None if self.is_lost else database()[PURGES].find_one(recent)
        start = stored["resume"] if stored else None
        # A page may be shown under versions that were trusted so long.
        again = AGAIN + settings.PAGE_CACHE_TRUST_MS / 1_000
        # What was told once: when, which keys, and where it goes on after them.
        told: deque[tuple[float, set[str], Document]] = deque()
        found = set() if stored else {LISTS}
        marked = time.monotonic()
        is_alive = True
        while is_alive and not stopping.is_set():
            primary = database().client.primary
            with _watched(start) as stream:
                # A primary that steps down goes on with the stream, as a secondary: one that then hangs holds up no write.
                while stream.alive and not stopping.is_set() and database().client.primary in (None, primary):
                    if found:
                        self._tell(found)
                        told.append((time.monotonic(), found, _position(stream)))
                    position = None if told else _position(stream)
                    while told and time.monotonic() > told[0][0] + again:
                        _at, again_told, position = told.popleft()
                        self._tell(again_told)
                    if position and time.monotonic() > marked + MARKED:
                        self._store(position)
                        marked = time.monotonic()
                    found = _gathered(stream)
                start = _position(stream)
                is_alive = stream.alive

    def _tell(self, found: set[str]) -> None:
        import_string(settings.CDN_PURGER)(self.cache, {LISTS} if LISTS in found else found)
        if self.is_failing:
            logger.warning("%s hears of changes again.", self.cache)
            self.is_failing = False

    def _failed(self, error: Exception) -> None:
        if not self.is_failing:
            logger.warning("%s does not hear of changes: %s: %s", self.cache, type(error).__name__, error)
            self.is_failing = True

    def _store(self, position: Document) -> None:
        said = {"resume": position, "at": now()}
        # What fails, or gets lost with a primary, is stored the next time: to tell comes first, and waits for no majority; how
        # old the position gets metrics say.
        positions = database().get_collection(PURGES, write_concern=WriteConcern(w=1))
        with suppress(PyMongoError), time_limit(LOOKING):
            positions.update_one({"_id": self.cache}, {"$set": said}, upsert=True)
            self.is_lost = False


@contextmanager
def _watched(start: Document | None) -> Iterator[ChangeStream[Document]]:
    """Open the change stream; to close it, wait but briefly for its server, which may be ending."""
    wait = round(GATHERED * 1_000)
    stream = database().watch(PIPELINE, start_after=start, max_await_time_ms=wait)
    try:
        yield stream
    finally:
        with time_limit(CLOSING):
            stream.close()


def _gathered(stream: ChangeStream[Document]) -> set[str]:
    """Return the keys of what changed: waits for the first, and briefly for those after it."""
    found = set[str]()
    until = time.monotonic() + GATHERED
    while (event := _next(stream)) is not None:
        found |= outdated(event)
        if time.monotonic() > until:
            break
    return found


def _next(stream: ChangeStream[Document]) -> Document | None:
    with time_limit(LOOKING):
        return stream.try_next()


def _position(stream: ChangeStream[Document]) -> Document:
    position = stream.resume_token
    assert position is not None  # as every answer of the server has one
    return dict(position)
