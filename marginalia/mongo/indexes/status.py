"""The size and use of the declared collections' indexes, as reported by the server."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pymongo.errors import OperationFailure

from marginalia.mongo.collections import mongodb_collections
from marginalia.mongo.connection import Document, client, database
from marginalia.mongo.indexes.matching import enforces, is_same


@dataclass(frozen=True)
class IndexStatus:
    """An existing index, with its size and use.

    Attributes:
        size: The size in bytes.
        uses: The number of times that the index has been used since the server began counting.
        since: The time when the server began counting, or None if it isn't known.
        enforces: Whether the index is unique or makes documents expire. Such an index does more than support queries.
    """

    collection: str
    name: str
    size: int
    uses: int
    since: datetime | None
    declared: bool
    enforces: bool


def indexes(collections: Iterable[str] = (), alias: str = "") -> list[IndexStatus]:
    """Return the existing indexes of declared collections.

    Args:
        collections: If not empty, only collections with these names are included.
        alias: If set, only collections of this connection are included.
    """
    rows = []
    for item in mongodb_collections(alias, collections):
        db = database(item.alias)
        name = item.collection.name
        if not db.list_collection_names(filter={"name": name}):
            continue
        sizes = db.command("collStats", name).get("indexSizes", {})
        uses: dict[str, tuple[int, datetime]] = {}
        for stat in db[name].aggregate([{"$indexStats": {}}]):  # yields one document per shard
            count, since = uses.get(stat["name"], (0, stat["accesses"]["since"]))
            uses[stat["name"]] = count + stat["accesses"]["ops"], min(since, stat["accesses"]["since"])
        for index_name, details in db[name].index_information().items():
            is_ours = index_name == "_id_" or any(is_same(index, details) for index in item.collection.indexes)
            count, since = uses.get(index_name, (0, None))
            size = sizes.get(index_name, 0)
            rows.append(IndexStatus(name, index_name, size, count, since, is_ours, enforces(details)))
    return rows


def build_progress(alias: str) -> int:
    """Return the progress of the current index build as a percentage, or 0 if no build is running or visible."""
    building: list[Document] = [
        {"$currentOp": {"allUsers": True}},
        {"$match": {"progress.total": {"$gt": 0}, "msg": {"$regex": "^Index Build"}}},
    ]
    try:
        running = list(client(alias).admin.aggregate(building))
    except OperationFailure:  # the site's database user may lack the permission
        return 0
    return max((100 * op["progress"]["done"] // op["progress"]["total"] for op in running), default=0)
