"""The collections of the job queue, in the database of every MongoDBBackend."""

from marginalia.tasks import queue, schedules
from marginalia.tasks.backend import databases

COLLECTIONS = queue.COLLECTIONS + schedules.COLLECTIONS


def database_aliases() -> list[str]:
    """Return the aliases of the connections whose databases contain these collections."""
    return databases()
