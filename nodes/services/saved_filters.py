"""Store the filters of lists that a user saves under a name. Each user has one document."""

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.connection import database
from nodes.collections import SAVED_FILTERS
from nodes.errors import TooManyFilters

# Maximum number of saved filters per user.
MOST = 30


def save(user_id: ObjectId, type: str, name: str, query: str) -> None:
    """Save the filters of a list. Filters with the same name are replaced.

    Args:
        user_id: The user.
        type: The list: "node", "photo" or "file".
        name: The name that the user chose.
        query: The filters, as the query string of the list's URL.

    Raises:
        TooManyFilters: The user already has MOST saved filters.
    """
    filters = database()[SAVED_FILTERS]
    same_name = {"$elemMatch": {"type": type, "name": name}}
    if filters.update_one({"_id": user_id, "filters": same_name}, {"$set": {"filters.$.query": query}}).matched_count:
        return
    has_room = {"_id": user_id, f"filters.{MOST - 1}": {"$exists": False}, "filters": {"$not": same_name}}
    added = {"type": type, "name": name, "query": query}
    try:
        filters.update_one(has_room, {"$push": {"filters": added}}, upsert=True)
    except DuplicateKeyError as error:
        # The document exists, but it has no room, or another request has just saved filters with this name.
        raise TooManyFilters(MOST) from error


def delete(user_id: ObjectId, type: str, name: str) -> None:
    """Delete the saved filters with this name, if there are any."""
    database()[SAVED_FILTERS].update_one({"_id": user_id}, {"$pull": {"filters": {"type": type, "name": name}}})
