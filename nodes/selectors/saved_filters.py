"""Read the filters of lists that a user has saved."""

from dataclasses import dataclass

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import SAVED_FILTERS


@dataclass(frozen=True)
class SavedFilters:
    """The filters of a list, as the query string of the list's URL, and the name that the user chose."""

    name: str
    query: str


def of(user_id: ObjectId, type: str) -> list[SavedFilters]:
    """Return the filters that a user has saved for a list ("node", "photo" or "file"), sorted by name."""
    stored = database()[SAVED_FILTERS].find_one({"_id": user_id}) or {"filters": ()}
    found = [SavedFilters(one["name"], one["query"]) for one in stored["filters"] if one["type"] == type]
    return sorted(found, key=lambda saved: saved.name.casefold())
