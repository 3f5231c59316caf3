"""Sort the nodes in a section manually. Each node has a `position`, a string between the positions of its neighbours.

Moving a node updates only that node, in a single operation. The update's filter contains the section, slug and position
that were read, and the nonce doesn't change. So moves never conflict with edits, and if two editors sort a section at
the same time, they don't undo each other's moves.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from typing import Any

from bson import ObjectId
from pymongo import UpdateOne

from marginalia.mongo.connection import Document, database
from nodes.collections import NODES
from nodes.models import tree
from nodes.selectors.by_hand import Spot, find_ordered, find_spot
from nodes.services.retrying import retry_compare_and_set
from nodes.services.site import invalidate

# Number of hexadecimal digits in a position. Positions at the start and end are at least STEP apart. Other positions
# get more digits if necessary.
DIGITS = 12
START = 1 << 47
STEP = 1 << 20
# A new position between two nodes is a random number from a range of about this size. Two editors who fill the same gap
# at the same time are therefore unlikely to get the same position.
ROOM = 1 << 16


def between(low: str, high: str) -> str:
    """Return a random position after `low` and before `high`. "" means the start or the end of the section.

    The result differs on each call.
    """
    if not (low and high):
        first, last = (int(position[:DIGITS] or "0", 16) for position in (low, high))
        offset = STEP + secrets.randbelow(STEP)
        number = first + offset if low else last - offset if high else START
        return f"{number:0{DIGITS}x}"
    digits = max(len(low), len(high))
    first, last = (int(position.ljust(digits, "0"), 16) for position in (low, high))
    while last - first < ROOM:
        digits = digits + 1
        first = first << 4
        last = last << 4
    number = first + (last - first) // 4 + secrets.randbelow((last - first) // 2)
    # Trailing zeros are removed, because no position could be inserted between "80" and "800".
    return f"{number:0{digits}x}".rstrip("0").ljust(DIGITS, "0")


def at_end(section_id: ObjectId | None) -> str | None:
    """Return a position after all nodes in a section, or None if the section isn't sorted manually."""
    if section_id is None or not tree.current().is_by_hand(section_id):
        return None
    last = find_ordered(section_id, {}, {}, 1, backwards=True)
    return between((last[0].get("position") or "") if last else "", "")


def with_position(document: Mapping[str, Any], section_id: ObjectId | None) -> Document:
    """Return `document` with a position at the end of the section.

    If the section isn't sorted manually, the result has no position.
    """
    position = at_end(section_id)
    rest = {name: value for name, value in document.items() if name != "position"}
    return rest | {"position": position} if position else rest


def update_with_position(update: Mapping[str, Any], section_id: ObjectId | None) -> dict[str, Any]:
    """Extend `update`, which moves a node into a section, so that it sets the same position as `with_position`."""
    position = at_end(section_id)
    operator, value = ("$set", position) if position else ("$unset", "")
    return {**update, operator: {**update.get(operator, {}), "position": value}}


def arrange(section_id: ObjectId, seen: Sequence[ObjectId], wanted: Sequence[ObjectId]) -> int:
    """Rearrange nodes in a section. Only nodes that the editor moved are written.

    Each moved node is put after the node that it should follow, wherever that node is now.

    Args:
        section_id: The section.
        seen: The ids of the nodes in the order that the editor saw.
        wanted: The same ids in the new order.

    Returns:
        The number of nodes in `seen` that are no longer in the section.

    Raises:
        TooBusy: Other writers kept moving the nodes.
    """
    with _invalidating():
        _start(section_id)
        return _arrange(section_id, seen, wanted)


def _arrange(section_id: ObjectId, seen: Sequence[ObjectId], wanted: Sequence[ObjectId]) -> int:
    inside = {"_id": {"$in": list(seen)}, "metadata.parent_id": section_id}
    present = {document["_id"] for document in database()[NODES].find(inside, {"_id": 1})}
    before, after = ([node_id for node_id in order if node_id in present] for order in (seen, wanted))
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    unmoved = {after[block.b + n] for block in blocks for n in range(block.size)}
    first = next((node_id for node_id in after if node_id in unmoved), None)
    missed = len(seen) - len(present)
    previous = None
    for node_id in after:
        if node_id not in unmoved:
            missed += not _put(section_id, node_id, behind=previous, ahead_of=None if previous else first)
        previous = node_id
    return missed


def move_to_start(section_id: ObjectId, node_id: ObjectId) -> bool:
    """Move a node before all other nodes in its section. Return False if the node is no longer in the section.

    Raises:
        TooBusy: Other writers kept changing the node.
    """
    with _invalidating():
        _start(section_id)
        return _put(section_id, node_id)


def move_to_end(section_id: ObjectId, node_id: ObjectId) -> bool:
    """Move a node after all other nodes in its section. Return False if the node is no longer in the section.

    Raises:
        TooBusy: Other writers kept changing the node.
    """
    with _invalidating():
        _start(section_id)
        last = find_ordered(section_id, {"_id": {"$ne": node_id}}, {}, 1, backwards=True)
        return _put(section_id, node_id, behind=last[0]["_id"] if last else None)


def move_next_to(section_id: ObjectId, node_id: ObjectId, anchor_id: ObjectId, *, is_before: bool) -> bool:
    """Move a node directly before or after another node in its section.

    Return False if one of them is no longer in the section.

    Raises:
        TooBusy: Other writers kept changing the nodes.
    """
    with _invalidating():
        _start(section_id)
        if is_before:
            return _put(section_id, node_id, ahead_of=anchor_id)
        return _put(section_id, node_id, behind=anchor_id)


def sort_by_name(section_id: ObjectId) -> None:
    """List a section by name again. The manual order is lost."""
    with _invalidating():
        nodes = database()[NODES]
        nodes.update_one({"_id": section_id}, {"$unset": {"arranged": ""}})
        nodes.update_many({"metadata.parent_id": section_id}, {"$unset": {"position": ""}})


def restore_name_order(section_id: ObjectId) -> None:
    """List a section by name again, if its manual order is the order of names.

    Nodes that another editor moves in the meantime keep their positions, and the section stays sorted manually.
    """
    documents = find_ordered(section_id, {}, {"metadata.slug": 1}, 0)
    slugs = [document["metadata"]["slug"] for document in documents]
    if slugs != sorted(slugs):
        return
    nodes = database()[NODES]
    inside = {"metadata.parent_id": section_id}
    unset = {"$unset": {"position": ""}}
    writes = [
        UpdateOne({"_id": document["_id"], **inside, "position": document["position"]}, unset)
        for document in documents
        if document.get("position")
    ]
    with _invalidating():
        if writes:
            nodes.bulk_write(writes, ordered=False)
        if not find_ordered(section_id, {"position": {"$gt": ""}}, {}, 1):
            nodes.update_one({"_id": section_id}, {"$unset": {"arranged": ""}})


def _start(section_id: ObjectId) -> None:
    """Begin to sort a section manually, unless it is already sorted manually. The order stays the same for now."""
    assign_positions(section_id)
    if not tree.current().is_by_hand(section_id):
        database()[NODES].update_one({"_id": section_id}, {"$set": {"arranged": True}})


@contextmanager
def _invalidating() -> Iterator[None]:
    """Invalidate the caches after the block, even if the block fails after moving some nodes."""
    try:
        yield
    finally:
        invalidate()


def assign_positions(section_id: ObjectId) -> None:
    """Give positions to those nodes of a section that have none. The new positions precede all existing positions.

    Nodes have no position if they were in the section before it was sorted manually. The last node gets its position
    first, so that two concurrent calls continue each other's work.
    """
    without = find_ordered(section_id, {"position": None}, {"metadata.slug": 1}, 0)
    if not without:
        return
    first = find_ordered(section_id, {"position": {"$gt": ""}}, {}, 1)
    number = int(first[0]["position"][:DIGITS], 16) if first else START
    for document in reversed(without):
        number -= STEP
        _write(section_id, document["_id"], Spot.of(document), f"{number:0{DIGITS}x}")


def _put(
    section_id: ObjectId, node_id: ObjectId, *, behind: ObjectId | None = None, ahead_of: ObjectId | None = None
) -> bool:
    """Move a node directly after the node `behind`, or directly before the node `ahead_of`.

    If neither is given, move the node to the start of the section. Return False if one of the nodes is no longer in the
    section.
    """
    others = {"_id": {"$ne": node_id}}
    anchor = behind or ahead_of

    def attempt() -> bool | None:
        seen = find_spot(section_id, node_id)
        anchor_spot = find_spot(section_id, anchor) if anchor else None
        if seen is None or (anchor and anchor_spot is None):
            return False
        low = anchor_spot.position if anchor_spot and behind else ""
        high = anchor_spot.position if anchor_spot and ahead_of else ""
        if ahead_of:
            neighbour = find_ordered(
                section_id, {**others, "position": {"$lt": high, "$gt": ""}}, {}, 1, backwards=True
            )
            low = neighbour[0]["position"] if neighbour else ""
        else:
            neighbour = find_ordered(section_id, {**others, "position": {"$gt": low}}, {}, 1)
            high = neighbour[0]["position"] if neighbour else ""
        return _write(section_id, node_id, seen, between(low, high)) or None

    return retry_compare_and_set(attempt)


def _write(section_id: ObjectId, node_id: ObjectId, seen: Spot, position: str) -> bool:
    """Set the position of a node, if its slug and position still match `seen`. Return whether the position was set."""
    unchanged = {"_id": node_id, "metadata.parent_id": section_id, "metadata.slug": seen.slug}
    unchanged["position"] = seen.position or None
    return bool(database()[NODES].update_one(unchanged, {"$set": {"position": position}}).matched_count)
