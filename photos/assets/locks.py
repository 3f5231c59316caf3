"""Locks on files documents. `metadata.locked` is a time, which the owner of the lock renews while it writes.

Every write that relies on the lock has it in its filter. So a writer that has lost its lock changes nothing.
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
# If a lock wasn't renewed for this time, its owner is dead. The clocks of processes can differ by STALE_AFTER -
# RENEW_INTERVAL.
STALE_AFTER = timedelta(minutes=5)


def free_or_stale_filter(moment: datetime) -> dict[str, Any]:
    """Return the filter of documents that no living process is writing at `moment`."""
    return {"$or": [{"metadata.locked": None}, {"metadata.locked": {"$lt": moment - STALE_AFTER}}]}


def stale_filter(moment: datetime) -> dict[str, Any]:
    """Return the filter of documents whose writer is dead at `moment`.

    It contains $type because the partial index only contains locked documents.
    """
    return {"metadata.locked": {"$lt": moment - STALE_AFTER, "$type": "date"}}


class Lock:
    """The lock of this process on a files document. `moment` is the stored time."""

    def __init__(self, collection: Collection[Document], selector: Mapping[str, Any], moment: datetime) -> None:
        self._collection = collection
        self._selector = dict(selector)
        self.moment = moment
        self._renewing = threading.Lock()

    def as_filter(self) -> dict[str, Any]:
        """Return the filter that matches the document only while this process owns the lock."""
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
        """Return the document if this process owns the lock, else None.

        The read waits for a renewal in another thread.
        """
        with self._renewing:
            return self._collection.find_one(self.as_filter(), projection)

    def release(self) -> None:
        """Release the lock if this process still owns it."""
        self._collection.update_one(self.as_filter(), {"$set": {"metadata.locked": None}})


class Heartbeat:
    """A thread that renews locks, so that a slow upload keeps them as long as its request lasts."""

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
        """Stop renewing. After this call, the `moment` of each lock is the stored one."""
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
                # The next beat tries again. If the database is away for too long, the last write notices that the lock
                # is lost.
                continue
