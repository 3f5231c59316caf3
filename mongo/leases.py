"""Leases: work that one process at a time should do is taken by one, for a time; a process that died loses it then."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from bson import ObjectId
from django.db import DEFAULT_DB_ALIAS
from pymongo.errors import DuplicateKeyError

from mongo.connection import database, now
from mongo.rate_limit import COLLECTION


@contextmanager
def held(name: str, time: timedelta, alias: str = DEFAULT_DB_ALIAS) -> Iterator[bool]:
    """Hold the lease `name` in the block, for at most `time`; give whether it is held, False if another holder has it."""
    leases, moment, token = database(alias)[COLLECTION], now(), str(ObjectId())
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
