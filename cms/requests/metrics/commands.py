"""Commands to MongoDB as the site counts them: for /metrics, for a request's log line, and the slow ones by themselves."""

import logging
import threading

from django.conf import settings

from cms.requests.metrics.counted import COMMANDS, CONNECTIONS_IN_USE

logger = logging.getLogger("cms.requests.commands")


class _Watch(threading.local):
    """Told of every command (marginalia.mongo.engine.commands); counts those of each thread."""

    number = 0

    def sent(self) -> None:
        CONNECTIONS_IN_USE.inc()

    def answered(self, name: str, collection: str, seconds: float) -> None:
        CONNECTIONS_IN_USE.dec()
        COMMANDS.observe(seconds)
        self.number += 1
        if 0 < settings.SLOW_COMMAND_MS <= seconds * 1000:
            logger.warning("Slow command: %s %s %.0f ms", name, collection or "-", seconds * 1000)


watch = _Watch()


def of_this_thread() -> int:
    """Return how many commands this thread has sent since it began."""
    return watch.number
