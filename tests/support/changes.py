"""The feed of changes, broken as a server breaks it."""

from api.changes import change_log
from marginalia.mongo.connection import database


def lose_history() -> None:
    """Have the relay go on from a change of which the server knows nothing; one was told at least. From a mere moment, however
    old, it would go on where the oplog begins, which has lost nothing yet."""
    entries, last = database()["cms.changes"], change_log.last()
    change = entries.find_one({"key": {"$regex": "^82[0-9A-F]+$"}}, sort=[("_id", -1)])
    assert change
    assert last
    ancient = {"_data": f"8200000001{change['key'][10:]}"}
    entries.update_one({"_id": last.number}, {"$set": {"resume": ancient}})
