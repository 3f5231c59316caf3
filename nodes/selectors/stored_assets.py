"""Queries for photos and files by id. Both are stored in ASSET_FILES. stored_photos contains the queries for photos."""

from collections.abc import Mapping, Sequence
from typing import Any

from bson import ObjectId
from bson.errors import InvalidId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_document
from nodes.collections import ASSET_FILES, BY_ID, gallery_filters, node_filter
from nodes.models import File, Photo, node_from_document
from nodes.models.dependencies import on_lists
from nodes.selectors.editable_nodes import Editable, Version
from nodes.selectors.listing import WHOLE, readable_nodes


@on_lists
def get(asset_id: ObjectId | str, section_id: ObjectId | None = None) -> Photo | File | None:
    """Return a photo or file by id, live or not. If it doesn't exist or is still being uploaded, return None.

    The section `section_id` is searched first.
    """
    try:
        key = ObjectId(asset_id)
    except (InvalidId, TypeError):
        return None
    wanted = {"_id": key, **node_filter(ASSET_FILES)}
    for near in gallery_filters(section_id):
        if document := database()[ASSET_FILES].find_one({**wanted, **near}, WHOLE, hint=BY_ID):
            return read_document(ASSET_FILES, document, node_from_document)
    return None


def get_file(file_id: ObjectId | str) -> File | None:
    """Return a file by id, live or not. If it doesn't exist or is still being uploaded, return None."""
    asset = get(file_id)
    return asset if isinstance(asset, File) else None


@on_lists
def by_ids(asset_ids: Sequence[ObjectId]) -> list[Photo | File]:
    """Return the photos and files with these ids, live or not, in any order."""
    if not asset_ids:
        return []
    documents = database()[ASSET_FILES].find({"_id": {"$in": list(asset_ids)}, **node_filter(ASSET_FILES)}, WHOLE)
    return list(readable_nodes(ASSET_FILES, documents))


def load(asset_id: ObjectId) -> Editable | None:
    """Return a photo or file for editors, or None if it doesn't exist."""
    document = database()[ASSET_FILES].find_one({"_id": asset_id, **node_filter(ASSET_FILES)}, WHOLE)
    return read_document(ASSET_FILES, document, _editable)


def _editable(document: Mapping[str, Any]) -> Editable:
    version = Version.of(document["metadata"], document["metadata"]["updated"])
    return Editable(node_from_document(document), version)
