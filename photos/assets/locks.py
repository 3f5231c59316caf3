"""Locks on files' documents. `metadata.locked` is a time that the owner of the lock renews while it is writing.

Every write that relies on the lock includes the lock in its filter, so a writer that has lost its lock can't change
anything.
"""

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Self

from pymongo.collection import Collection
from pymongo.errors import PyMongoError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document

RENEW_INTERVAL = timedelta(seconds=30)
# If a lock hasn't been renewed for this long, its owner is considered dead. The clocks of processes may
# safely differ by up to STALE_AFTER - RENEW_INTERVAL.
STALE_AFTER = timedelta(minutes=5)


def free_or_stale_filter(moment: datetime) -> dict[str, Any]:
    """Return a filter for documents that no live process is writing at `moment`."""
    return {"$or": [{"metadata.locked": None}, {"metadata.locked": {"$lt": moment - STALE_AFTER}}]}


def stale_filter(moment: datetime) -> dict[str, Any]:
    """Return a filter for documents whose lock is stale at `moment`, because the writer has stopped renewing it.

    The filter contains $type so that it can use the partial index, which contains only locked documents.
    """
    return {"metadata.locked": {"$lt": moment - STALE_AFTER, "$type": "date"}}


class Lock:
    """This process's lock on a file's document. `moment` is the time that was last stored in the document."""

    def __init__(self, collection: Collection[Document], selector: Mapping[str, Any], moment: datetime) -> None:
        self._collection = collection
        self._selector = dict(selector)
        self.moment = moment
        self._renewing = threading.Lock()

    def as_filter(self) -> dict[str, Any]:
        """Return a filter that matches the document only while this process owns the lock."""
        return {**self._selector, "metadata.locked": self.moment}

    def renew(self) -> bool:
        """Store the current time. Return whether this process still owned the lock."""
        with self._renewing:
            moment = max(now(), self.moment)
            result = self._collection.update_one(self.as_filter(), {"$set": {"metadata.locked": moment}})
            if result.matched_count:
                self.moment = moment
        return bool(result.matched_count)

    def find(self, projection: Mapping[str, Any]) -> Document | None:
        """Return the document if this process owns the lock, or None otherwise.

        If another thread is renewing the lock, the method waits until the lock has been renewed.
        """
        with self._renewing:
            return self._collection.find_one(self.as_filter(), projection)

    def release(self) -> None:
        """Release the lock if this process still owns it."""
        self._collection.update_one(self.as_filter(), {"$set": {"metadata.locked": None}})


class Heartbeat:
    """A thread that renews locks, so that a slow upload keeps its locks until its request ends."""

    def __init__(self, locks: Sequence[Lock]) -> None:
        self._locks = tuple(locks)
        self._period = RENEW_INTERVAL.total_seconds()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="upload-heartbeat", daemon=True)
        self.lost = False

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop renewing the locks. After this call, the `moment` of each lock is the stored time."""
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
                # The thread tries again at the next interval. If the database is unavailable for too long, the last
                # write detects that the lock has been lost.
                continue
