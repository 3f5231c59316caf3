"""Reading photos. What readers may see is spelled in nodes.selectors.nodes.live."""

from datetime import datetime

from bson import ObjectId
from bson.errors import InvalidId

from mongo.connection import database
from nodes.collections import ASSET_FILES, standing
from nodes.models import Photo
from nodes.tree import Tree

# Of one photo: all but what GridFS keeps for itself.
WHOLE = {"metadata": 1}
# Duplicates pointed out; more help nobody.
MOST_DUPLICATES = 5


def get(photo_id: ObjectId | str) -> Photo | None:
    """Return a photo by id, live or not; None if there is none, or its first upload is not done."""
    try:
        key = ObjectId(photo_id)
    except (InvalidId, TypeError):
        return None
    document = database()[ASSET_FILES].find_one({"_id": key, **standing(ASSET_FILES)}, WHOLE)
    return Photo.from_document(document) if document else None


def same_bytes(sha256: str, but: ObjectId | None = None) -> tuple[ObjectId, ...]:
    """Return the photos that show exactly these bytes, at most MOST_DUPLICATES, without the photo `but`."""
    found = database()[ASSET_FILES].find(
        {"metadata.detail.sha256": sha256, "_id": {"$ne": but}, **standing(ASSET_FILES)}, {"_id": 1}
    )
    return tuple(document["_id"] for document in found.limit(MOST_DUPLICATES))


def is_public(photo: Photo, sections: Tree, moment: datetime) -> bool:
    """Return whether everybody may see the photo: it and its galleries are live."""
    return photo.is_live(moment) and sections.is_live(photo.metadata.parent_id, moment)
