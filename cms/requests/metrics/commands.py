"""Count MongoDB commands for /metrics and for each request's log line, and log slow commands."""

import logging
import threading

from django.conf import settings

from cms.requests.metrics.request_metrics import COMMANDS, CONNECTIONS_IN_USE

logger = logging.getLogger("cms.requests.commands")


# The command that reads the change stream of a database, and the name that it uses for the collection.
_CHANGE_STREAM = ("getMore", "$cmd.aggregate")


class _Watch(threading.local):
    """A receiver of events from marginalia.mongo.engine.commands. It counts the MongoDB commands of each thread."""

    count = 0

    def sent(self) -> None:
        CONNECTIONS_IN_USE.inc()

    def answered(self, name: str, collection: str, seconds: float) -> None:
        CONNECTIONS_IN_USE.dec()
        COMMANDS.observe(seconds)
        self.count += 1
        # Reading a change stream includes waiting for changes.
        if 0 < settings.SLOW_COMMAND_MS <= seconds * 1000 and (name, collection) != _CHANGE_STREAM:
            logger.warning("Slow command: %s %s %.0f ms", name, collection or "-", seconds * 1000)


watch = _Watch()


def sent_by_this_thread() -> int:
    """Return the number of commands that this thread has sent since it started."""
    return watch.count
