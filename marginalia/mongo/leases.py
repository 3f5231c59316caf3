"""Named leases, for work that only one process may do at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from marginalia.mongo import rate_limit
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database


@contextmanager
def exclusively(name: str, time: timedelta) -> Iterator[bool]:
    """Hold the lease `name` while the block is running, for at most `time`.

    Yield True, or False if another process holds the lease. If a process dies, its lease expires after `time`.
    """
    leases = database()[rate_limit.COLLECTION]
    moment = now()
    token = str(ObjectId())
    document = {"passed": [{"token": token, "at": moment}], "expires": moment + time}
    key = f"lease:{name}"
    try:
        leases.update_one({"_id": key, "expires": {"$lte": moment}}, {"$set": document}, upsert=True)
    except DuplicateKeyError:
        yield False
        return
    try:
        yield True
    finally:
        leases.delete_one({"_id": key, "passed.token": token})
