"""The hot queries of pages, for the doctor to explain."""

from mongo.connection import now
from mongo.doctor import HotQuery
from nodes.collections import NODES
from nodes.kinds import ENTRY, SECTIONS
from nodes.selectors.listing import NEWEST_FIRST, live

_SORT = dict(NEWEST_FIRST)

HOT_QUERIES = (
    HotQuery(
        "a page by its address",
        NODES,
        lambda node: {
            "filter": {
                "metadata.parent_id": node["metadata"]["parent_id"],
                "metadata.slug": node["metadata"]["slug"],
            }
        },
    ),
    HotQuery(
        "the newest of a section",
        NODES,
        lambda node: {
            "filter": {"metadata.parent_id": node["metadata"]["parent_id"], "metadata.type": ENTRY, **live(now())},
            "sort": _SORT,
            "limit": 10,
        },
        example={"metadata.type": ENTRY},
    ),
    HotQuery(
        "the newest of the site",
        NODES,
        lambda node: {
            "filter": {
                "metadata.type": ENTRY,
                "metadata.parent_id": {"$in": [node["metadata"]["parent_id"]]},
                **live(now()),
            },
            "sort": _SORT,
            "limit": 10,
        },
        example={"metadata.type": ENTRY},
    ),
    HotQuery(
        "what carries a tag",
        NODES,
        lambda node: {
            "filter": {
                "metadata.tags": next(iter(node["metadata"]["tags"]), "none"),
                "metadata.parent_id": {"$in": [node["metadata"]["parent_id"]]},
                **live(now()),
            },
            "sort": _SORT,
            "limit": 10,
        },
        example={"metadata.type": ENTRY},
    ),
    HotQuery(
        "the section tree",
        NODES,
        lambda node: {"filter": {"metadata.type": {"$in": list(SECTIONS)}}},
        broadcast_because="Sections are few, lie anywhere, and are read once for each version of the site.",
    ),
)
