"""Locks on files documents: `metadata.locked` says since when a process writes, and is renewed while it does.

The lock is in the filter of every write that relies on it: a writer that lost it changes nothing.
"""

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Self

from pymongo.collection import Collection
from pymongo.errors import PyMongoError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document

RENEW = timedelta(seconds=30)
# Not renewed for so long: its holder is dead. The processes' clocks may differ by as much less RENEW.
STALE = timedelta(minutes=5)


def free_or_stale(moment: datetime) -> dict[str, Any]:
    """Return the filter of documents that no living process writes to at `moment`."""
    return {"$or": [{"metadata.locked": None}, {"metadata.locked": {"$lt": moment - STALE}}]}


def stale(moment: datetime) -> dict[str, Any]:
    """Return the filter of documents whose writer is dead at `moment`. $type: the index holds locked documents only."""
    return {"metadata.locked": {"$lt": moment - STALE, "$type": "date"}}


class Lock:
    """The lock on one files document that this process holds; `moment` is what is stored."""

    def __init__(self, collection: Collection[Document], selector: Mapping[str, Any], moment: datetime) -> None:
        self._collection = collection
        self._selector = dict(selector)
        self.moment = moment
        self._renewing = threading.Lock()

    def as_filter(self) -> dict[str, Any]:
        """Return the filter that matches the document only while the lock is ours."""
        return {**self._selector, "metadata.locked": self.moment}

    def renew(self) -> bool:
        """Store the present time; return whether the lock was still ours."""
        with self._renewing:
            moment = max(now(), self.moment)
            done = self._collection.update_one(self.as_filter(), {"$set": {"metadata.locked": moment}})
            if done.matched_count:
                self.moment = moment
        return bool(done.matched_count)

    def find(self, projection: Mapping[str, Any]) -> Document | None:
        """Return what is stored while the lock is ours, None if it is not: never between a renewal and word of it."""
        with self._renewing:
            return self._collection.find_one(self.as_filter(), projection)

    def release(self) -> None:
        """Give the lock back, if it is still ours."""
        self._collection.update_one(self.as_filter(), {"$set": {"metadata.locked": None}})


class Heartbeat:
    """Renews locks from a thread of its own: a sender may be slow to send, and is alive as long as its request is."""

    def __init__(self, locks: Sequence[Lock]) -> None:
        self._locks = tuple(locks)
        self._period = RENEW.total_seconds()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="upload-heartbeat", daemon=True)
        self.lost = False

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Renew no more; when this returns the locks' moments are what is stored."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(self._period):
            try:
                if not all(lock.renew() for lock in self._locks):
                    self.lost = True
                    return
            except PyMongoError:
                # The next beat tries again; if the database stays away too long the last write finds the lock lost.
                continue
