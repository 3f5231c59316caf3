"""Writing the site's one document."""

from typing import Any

from bson import ObjectId
from pymongo import ReturnDocument

from mongo.connection import database
from nodes.collections import SITE
from nodes.selectors import site as site_selectors
from nodes.selectors.site import SITE_ID


class SettingsConflict(Exception):
    """Somebody else saved the settings since they were loaded."""


def touch() -> ObjectId:
    """Give the site a new version; return it.

    Called after every change that readers can see, once it can be read, and also by a write that finds its change made
    already: the write before it may have stopped between the change and this.
    """
    version = ObjectId()
    database()[SITE].update_one(
        {"_id": SITE_ID}, {"$set": {"version": version}, "$setOnInsert": {"tree": 0, "nonce": ObjectId()}}, upsert=True
    )
    site_selectors.forget()
    return version


def save_settings(seen: ObjectId | None, changes: dict[str, Any]) -> None:
    """Store the changed settings if nobody changed them since `seen`, the nonce that the form was rendered with.

    Raises SettingsConflict otherwise.
    """
    if seen is None:
        touch()
        seen = site_selectors.read().nonce
    stored = database()[SITE].find_one_and_update(
        {"_id": SITE_ID, "nonce": seen},
        {"$set": {"nonce": ObjectId(), **{f"settings.{name}": value for name, value in changes.items()}}},
        projection={"_id": 1},
        return_document=ReturnDocument.AFTER,
    )
    if stored is None:
        raise SettingsConflict
    touch()
