"""Working copies: unsaved input of editors, stored as it was sent. Only its editor sees it, until it is saved or expires.

Each open form has its own working copy, so that two tabs don't mix. The form's script numbers its requests, so that a
late request never replaces newer input. When the input is saved or discarded, the number stays stored for the same
reason.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.collections import WORKING_COPIES

# Maximum working copies per account. The oldest are deleted first.
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
    """Store `fields`, the names and values that a form of a node would send, in order.

    Args:
        user_id: The editor.
        copy_id: The id of the working copy.
        seq: The number of the request.
        fields: The names and values.
        type: The content type.
        node_id: The node, or None for a new one.

    Returns:
        False if this number or a later one was already stored, saved or discarded. Nothing is stored then.
    """
    key = {"user": user_id, "copy": copy_id}
    values = {"seq": seq, "updated": now(), "type": type, "node_id": node_id, "fields": [list(pair) for pair in fields]}
    if _replace(key, seq, values):
        return True
    try:
        database()[WORKING_COPIES].insert_one({"_id": key, **values})
    except DuplicateKeyError:
        # The copy exists with a later number, or a request with an earlier number stored it meanwhile.
        return _replace(key, seq, values)
    _drop_oldest(user_id)
    return True


def mark_saved(user_id: ObjectId, copy_id: ObjectId, seq: int) -> None:
    """Delete the input up to the number `seq`, which was saved, discarded or moved to another form.

    Later input stays.
    """
    key = {"user": user_id, "copy": copy_id}
    forgotten = {"type": "", "node_id": "", "fields": ""}
    with suppress(DuplicateKeyError):
        database()[WORKING_COPIES].update_one(
            {"_id": key, "seq": {"$lte": seq}},
            {"$set": {"seq": seq, "updated": now()}, "$unset": forgotten},
            upsert=True,
        )


def _replace(key: dict[str, ObjectId], seq: int, values: dict[str, Any]) -> bool:
    earlier = {"_id": key, "seq": {"$lt": seq}}
    return bool(database()[WORKING_COPIES].update_one(earlier, {"$set": values}).matched_count)


def _drop_oldest(user_id: ObjectId) -> None:
    """Delete the oldest working copies of an account beyond MOST."""
    copies = database()[WORKING_COPIES]
    own = list(copies.find({"_id.user": user_id, "type": {"$gt": ""}}, {"updated": 1}).limit(2 * MOST))
    for oldest in sorted(own, key=lambda copy: copy["updated"])[:-MOST]:
        copies.delete_one({"_id": oldest["_id"], "updated": oldest["updated"]})
