"""Find nodes and photos that appeared, changed or expired on schedule within a period."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from marginalia.mongo.connection import Document, database
from nodes.collections import ASSET_FILES, NODES, node_filter
from nodes.content import registry

PUBLISHED = "published"
EXPIRES = "expires"
SCHEDULED = "scheduled"
# The fields that determine whether readers can see a node or photo.
SHOWN_BY = ("type", "parent_id", "published", "expires", "nonce", "content_id")
SHOWN = {f"metadata.{name}": 1 for name in SHOWN_BY}


def changes_between(since: datetime, until: datetime) -> list[Document]:
    """Return the scheduled changes after `since` and up to `until`, earliest first, without the nodes' text.

    Each change has the keys _id, metadata, home, what and at. `home` is the collection, `what` is PUBLISHED, EXPIRES or
    SCHEDULED, and `at` is the time. A single command reads all changes, using a separate index for each kind.
    """
    first, *others = _branches({"$gt": since, "$lte": until})
    unions = [{"$unionWith": {"coll": home, "pipeline": pipeline}} for home, pipeline in others]
    changes = database()[first[0]].aggregate([*first[1], *unions])
    return sorted(changes, key=lambda change: (change["at"], change["_id"]))


def _branches(span: dict[str, datetime]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    of_types = {"metadata.type": {"$in": list(registry.names())}}
    for home in (NODES, ASSET_FILES):
        yield home, _branch(home, "metadata.published", PUBLISHED, {**of_types, "metadata.published": span})
        yield home, _branch(home, "metadata.expires", EXPIRES, {"metadata.expires": span})
    yield NODES, _branch(NODES, "draft.due", SCHEDULED, {"draft.due": span})


def _branch(home: str, path: str, what: str, query: dict[str, Any]) -> list[dict[str, Any]]:
    constants = {"home": {"$literal": home}, "what": {"$literal": what}, "at": f"${path}"}
    return [{"$match": {**query, **node_filter(home)}}, {"$project": {**SHOWN, **constants}}]
