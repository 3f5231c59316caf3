"""Damage the change feed in ways that MongoDB can cause."""

from api.changes import change_log
from marginalia.mongo.connection import database


def lose_history() -> None:
    """Make the relay resume from a change that the server no longer stores. The feed must contain at least one change.

    The position must be a change instead of a time. With a time, the relay would resume at the start of the oplog, and
    no history would be lost.
    """
    entries = database()["cms.changes"]
    last = change_log.last()
    change = entries.find_one({"key": {"$regex": "^82[0-9A-F]+$"}}, sort=[("_id", -1)])
    assert change
    assert last
    ancient = {"_data": f"8200000001{change['key'][10:]}"}
    entries.update_one({"_id": last.number}, {"$set": {"resume": ancient}})
