"""The collection that stores, for each CDN or reverse-proxy cache, the position of the last purged change."""

from marginalia.mongo.collections import Collection
from marginalia.mongo.schemas import DATE, TEXT, document

PURGES = "cms.purges"


def collections() -> tuple[Collection, ...]:
    """Return the collections that this app declares."""
    return (
        Collection(
            PURGES,
            validator=document({"_id": TEXT, "resume": document({}), "at": DATE}),
            unsharded_because="One document per CDN or reverse-proxy cache.",
        ),
    )
