"""What an editor typed and has not saved: kept as it was sent, for its editor alone, until it is saved or a month is over.

Each opened form has a working copy of its own, so that two tabs keep their words apart. Its script numbers what it sends: what
arrives after something newer never takes the place of it. What was saved, or discarded, leaves that number for the same reason.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.collections import WORKING_COPIES

# An account has at most so many; the oldest goes first.
MOST = 50


def store(
    user_id: ObjectId,
    copy_id: ObjectId,
    seq: int,
    fields: Sequence[tuple[str, str]],
    *,
    type: str,
    node_id: ObjectId | None,
) -> bool:
    """Keep `fields`, what a form over a node of a type (None: a new one) would send, as names and values in order.

    Return False if this number or a later one was kept, saved or discarded before: nothing is to be done then.
    """
    key = {"user": user_id, "copy": copy_id}
    said = {"seq": seq, "updated": now(), "type": type, "node_id": node_id, "fields": [list(pair) for pair in fields]}
    if _replace(key, seq, said):
        return True
    try:
        database()[WORKING_COPIES].insert_one({"_id": key, **said})
    except DuplicateKeyError:
        # It is there with a later number, or an earlier one came in between.
        return _replace(key, seq, said)
    _drop_oldest(user_id)
    return True


def mark_saved(user_id: ObjectId, copy_id: ObjectId, seq: int) -> None:
    """Forget what was typed up to a number: it was saved, discarded, or goes on in another form. What came later stays."""
    key = {"user": user_id, "copy": copy_id}
    forgotten = {"type": "", "node_id": "", "fields": ""}
    with suppress(DuplicateKeyError):
        database()[WORKING_COPIES].update_one(
            {"_id": key, "seq": {"$lte": seq}},
            {"$set": {"seq": seq, "updated": now()}, "$unset": forgotten},
            upsert=True,
        )


def _replace(key: dict[str, ObjectId], seq: int, said: dict[str, Any]) -> bool:
    earlier = {"_id": key, "seq": {"$lt": seq}}
    return bool(database()[WORKING_COPIES].update_one(earlier, {"$set": said}).matched_count)


def _drop_oldest(user_id: ObjectId) -> None:
    """Delete what an account has more than MOST."""
    copies = database()[WORKING_COPIES]
    own = list(copies.find({"_id.user": user_id, "type": {"$gt": ""}}, {"updated": 1}).limit(2 * MOST))
    for oldest in sorted(own, key=lambda copy: copy["updated"])[:-MOST]:
        copies.delete_one({"_id": oldest["_id"], "updated": oldest["updated"]})
