"""The thread that listens for changes in MongoDB and stamps the keys of outdated pages (reader.page_cache.stamps).

Every worker process of the web server starts the thread, and a lock lets only one of them listen. If its process ends,
the operating system releases the lock, and another process begins to listen.

While cached pages are requested, the listener writes heartbeats. When a heartbeat comes back in the change stream, all
changes before it have come back, too. Empty batches and operation times don't prove that.
"""

import fcntl
import logging
import threading
import time
from collections import deque
from contextlib import suppress

from pymongo.errors import PyMongoError
from pymongo.write_concern import WriteConcern

from marginalia.mongo.connection import database, time_limit
from marginalia.mongo.servers import is_outage
from reader import change_stream, purging
from reader.change_stream import HistoryLost
from reader.collections import HEARTBEATS
from reader.page_cache import stamps

# The following constants are in seconds.
HEARTBEAT_INTERVAL = 0.2
HEARTBEAT_TIMEOUT = 1.0
# Timeout for reading the stream. It can be long, because pages are compared as soon as heartbeats are missing.
STREAM_TIMEOUT = 2.0
RETRY_AFTER = 0.5

logger = logging.getLogger(__name__)


def start() -> None:
    """Start the thread in this process."""
    threading.Thread(target=run, args=(threading.Event(),), name="page-cache-listener", daemon=True).start()


def run(stopping: threading.Event) -> None:
    """Wait for the lock, and then listen until `stopping` is set. After an error, begin a new epoch."""
    reason = ""
    while not stopping.is_set():
        try:
            fcntl.lockf(stamps.listener_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stopping.wait(RETRY_AFTER)
            continue
        try:
            Listener().listen(stopping)
        except Exception as error:  # noqa: BLE001 - if the thread ended, no page would be served without a command
            # Outages are already reported when a request fails.
            if str(error) != reason and not is_outage(error):
                logger.warning("The page cache compares every page with MongoDB: %s", error)
            reason = str(error)
        finally:
            stamps.end_epoch()
            fcntl.lockf(stamps.listener_lock, fcntl.LOCK_UN)
        stopping.wait(RETRY_AFTER)


class Listener:
    """A listener with one change stream."""

    def __init__(self) -> None:
        # The last heartbeats that this listener has sent. Each is the time when it was sent, in nanoseconds of the
        # monotonic clock.
        self._sent = deque([0], maxlen=10)

    def listen(self, stopping: threading.Event) -> None:
        """Stamp keys until `stopping` is set or the primary changes. Without a known primary, return immediately.

        Raises:
            HistoryLost: A watched collection was dropped or renamed.
            PyMongoError: The server failed.
        """
        # If the primary changes after this line, this method ends, even if the stream isn't open yet.
        primary = stamps.primary()
        if not primary:
            return
        with change_stream.listening(HEARTBEATS) as stream:
            stamps.begin_epoch(primary)
            while not stopping.is_set() and stream.alive and stamps.primary() in (0, primary):
                if stamps.is_asked() and time.monotonic_ns() - self._sent[-1] > HEARTBEAT_INTERVAL * 1e9:
                    self._send_heartbeat()
                event = change_stream.next_event(stream, STREAM_TIMEOUT)
                if event is not None:
                    self._handle(event)

    def _handle(self, event: change_stream.Document) -> None:
        if event["operationType"] in change_stream.ENDING_OPERATIONS:
            raise HistoryLost(f"{event['operationType']} of a collection")
        if event["ns"]["coll"] != HEARTBEATS:
            stamps.stamp(purging.outdated_keys(event))
        elif (beat := event.get("beat", -1)) in self._sent:
            stamps.hear_until(beat)

    def _send_heartbeat(self) -> None:
        beat = time.monotonic_ns()
        self._sent.append(beat)
        heartbeats = database().get_collection(HEARTBEATS, write_concern=WriteConcern("majority"))
        # If this write fails, pages are compared until a later heartbeat has come back.
        with suppress(PyMongoError), time_limit(HEARTBEAT_TIMEOUT):
            heartbeats.update_one({"_id": "web"}, {"$set": {"beat": beat}}, upsert=True)
