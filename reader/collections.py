"""The collections for CDNs (the position of the last purged change) and for the page cache (heartbeats)."""

from marginalia.mongo.collections import Collection
from marginalia.mongo.schemas import DATE, INTEGER, TEXT, document

PURGES = "cms.purges"
HEARTBEATS = "cms.heartbeats"


def collections() -> tuple[Collection, ...]:
    """Return the collections that this app declares."""
    return (
        Collection(
            PURGES,
            validator=document({"_id": TEXT, "resume": document({}), "at": DATE}),
            unsharded_because="One document per CDN or reverse-proxy cache.",
        ),
        Collection(
            HEARTBEATS,
            validator=document({"_id": TEXT, "beat": INTEGER}),
            unsharded_because="One document.",
        ),
    )
