"""The collection that stores which change each cache was told last."""

from marginalia.mongo.collections import Collection
from marginalia.mongo.schemas import DATE, TEXT, document

PURGES = "cms.purges"


def collections() -> tuple[Collection, ...]:
    """Return the collection."""
    return (
        Collection(
            PURGES,
            validator=document({"_id": TEXT, "resume": document({}), "at": DATE}),
            unsharded_because="One document for each cache in front of the site.",
        ),
    )
