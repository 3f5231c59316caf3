"""Store working copies: unsaved input that only the editor who typed it can see, until it is saved or expires.

Other editors of the node see only the editor's name, the time, and the heading above the change.

Each open form has its own working copy, so that two tabs don't overwrite each other's input. The form's script numbers
its requests, so that a delayed request never replaces newer input. For the same reason, the number is kept after the
input is saved or discarded.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.collections import WORKING_COPIES

# Maximum number of working copies per account. The oldest are deleted first.
MOST = 50


def store(
    user_id: ObjectId,
    copy_id: ObjectId,
    seq: int,
    fields: Sequence[tuple[str, str]],
    *,
    type: str,
    node_id: ObjectId | None,
    editor: str = "",
    heading: str = "",
) -> bool:
    """Store the unsaved input in a node's form.

    Args:
        user_id: The editor.
        copy_id: The id of the working copy.
        seq: The number of the request.
        fields: The names and values that the form would submit, in order.
        type: The content type.
        node_id: The node, or None for a new node.
        editor: The editor's name, which is shown to the node's other editors. It is empty if the form was closed.
        heading: The heading above the editor's last change, which is also shown to the others.

    Returns:
        Whether the input was stored. It isn't stored if input with the same or a later number has already been stored,
        saved or discarded.
    """
    key = {"user": user_id, "copy": copy_id}
    values = {
        "seq": seq,
        "updated": now(),
        "type": type,
        "node_id": node_id,
        "fields": [list(pair) for pair in fields],
        "editor": editor,
        "heading": heading,
    }
    if _replace(key, seq, values):
        return True
    try:
        database()[WORKING_COPIES].insert_one({"_id": key, **values})
    except DuplicateKeyError:
        # Either the stored copy has a later number, or a concurrent request with an earlier number has just inserted a
        # copy. Replace the copy only in the second case.
        return _replace(key, seq, values)
    _drop_oldest(user_id)
    return True


def mark_saved(user_id: ObjectId, copy_id: ObjectId, seq: int) -> None:
    """Delete input whose number is at most `seq`, because it was saved, discarded or moved to another form.

    Later input is kept.
    """
    key = {"user": user_id, "copy": copy_id}
    forgotten = dict.fromkeys(("type", "node_id", "fields", "editor", "heading"), "")
    with suppress(DuplicateKeyError):
        database()[WORKING_COPIES].update_one(
            {"_id": key, "seq": {"$lte": seq}},
            {"$set": {"seq": seq, "updated": now()}, "$unset": forgotten},
            upsert=True,
        )


def mark_closed(user_id: ObjectId, copy_id: ObjectId, seq: int) -> None:
    """Stop showing the editor of a working copy to others, because the form was closed without saving it.

    If the working copy's number is higher than `seq`, do nothing.
    """
    key = {"user": user_id, "copy": copy_id}
    database()[WORKING_COPIES].update_one({"_id": key, "seq": {"$lte": seq}}, {"$set": {"editor": ""}})


def _replace(key: dict[str, ObjectId], seq: int, values: dict[str, Any]) -> bool:
    earlier = {"_id": key, "seq": {"$lt": seq}}
    return bool(database()[WORKING_COPIES].update_one(earlier, {"$set": values}).matched_count)


def _drop_oldest(user_id: ObjectId) -> None:
    """Delete an account's oldest working copies, so that MOST are left."""
    copies = database()[WORKING_COPIES]
    own = list(copies.find({"_id.user": user_id, "type": {"$gt": ""}}, {"updated": 1}).limit(2 * MOST))
    for oldest in sorted(own, key=lambda copy: copy["updated"])[:-MOST]:
        copies.delete_one({"_id": oldest["_id"], "updated": oldest["updated"]})
