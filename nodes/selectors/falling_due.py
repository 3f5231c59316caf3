"""What appeared, changed as scheduled or expired by itself within some time, of nodes and photos."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from marginalia.mongo.connection import Document, database
from nodes.collections import ASSET_FILES, NODES, node_filter
from nodes.content import registry

PUBLISHED = "published"
EXPIRES = "expires"
SCHEDULED = "scheduled"
# Of a node or photo: what says whether readers see it.
SHOWN_BY = ("type", "parent_id", "published", "expires", "nonce", "content_id")
SHOWN = {f"metadata.{name}": 1 for name in SHOWN_BY}


def changes_between(since: datetime, until: datetime) -> list[Document]:
    """Return what did so after `since` and up to `until`, the first first: {_id, metadata, home, what, at}, without texts.

    `home`: its collection; `what`: PUBLISHED, EXPIRES or SCHEDULED. One command, along an index each.
    """
    first, *others = _branches({"$gt": since, "$lte": until})
    beside = [{"$unionWith": {"coll": home, "pipeline": pipeline}} for home, pipeline in others]
    found = database()[first[0]].aggregate([*first[1], *beside])
    return sorted(found, key=lambda one: (one["at"], one["_id"]))


def _branches(span: dict[str, datetime]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    of_types = {"metadata.type": {"$in": list(registry.names())}}
    for home in (NODES, ASSET_FILES):
        yield home, _branch(home, "metadata.published", PUBLISHED, {**of_types, "metadata.published": span})
        yield home, _branch(home, "metadata.expires", EXPIRES, {"metadata.expires": span})
    yield NODES, _branch(NODES, "draft.due", SCHEDULED, {"draft.due": span})


def _branch(home: str, path: str, what: str, query: dict[str, Any]) -> list[dict[str, Any]]:
    said = {"home": {"$literal": home}, "what": {"$literal": what}, "at": f"${path}"}
    return [{"$match": {**query, **node_filter(home)}}, {"$project": {**SHOWN, **said}}]
