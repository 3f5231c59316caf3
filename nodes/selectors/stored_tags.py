"""Queries for tags: their use, their descriptions, and their former names."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint, read_document, read_documents
from nodes.collections import ASSET_FILES, NODES, TAGS, keys_of, node_filter
from nodes.models.dependencies import on_lists


@dataclass(frozen=True)
class StoredTag:
    """The stored data of a tag, in addition to the tags of each page.

    Attributes:
        renamed_to: The current name of the tag, or "" if `name` is the current name.
        is_renaming: Whether some pages may still have the former name.
        pages: The number of pages when the rename began.
        nonce: The nonce, or None if nothing is stored about the tag.
    """

    name: str
    description: str = ""
    renamed_to: str = ""
    is_renaming: bool = False
    pages: int = 0
    nonce: ObjectId | None = None


@on_lists
def get(name: str) -> StoredTag:
    """Return what is stored about a tag."""
    stored = database()[TAGS].find_one({"_id": name})
    return read_document(TAGS, stored, _stored_tag) or StoredTag(name)


def all_stored() -> list[StoredTag]:
    """Return all tags with a description or a new name."""
    return list(read_documents(TAGS, database()[TAGS].find({}).sort("_id", 1), _stored_tag))


@on_lists
def descriptions() -> dict[str, str]:
    """Return the descriptions of tags, keyed by tag."""
    return {tag.name: tag.description for tag in all_stored()}


def being_renamed() -> list[StoredTag]:
    """Return the tags whose rename hasn't been completed."""
    return list(read_documents(TAGS, database()[TAGS].find({"is_renaming": True}), _stored_tag))


@lru_cache(maxsize=2)
def count_all(version: ObjectId | None) -> Mapping[str, int]:
    """Return, for each tag in use, the number of pages, photos and files with this tag.

    The result is cached for the site's version.
    """
    counts: Counter[str] = Counter()
    for name in (NODES, ASSET_FILES):
        pipeline: list[dict[str, Any]] = [
            {"$match": {"metadata.tags": {"$gt": ""}, **node_filter(name)}},
            {"$project": {"metadata.tags": 1, "_id": 0}},
            {"$unwind": "$metadata.tags"},
            {"$group": {"_id": "$metadata.tags", "count": {"$sum": 1}}},
        ]
        for group in aggregate_with_hint(database()[name], pipeline, keys_of("by_tag", name)):
            counts[group["_id"]] += group["count"]
    return counts


def existing_spelling(name: str, version: ObjectId | None) -> str:
    """Return `name` as it is used on pages. If it is used only with other capitals, return that tag, and "" if unused.

    Pages can't have two tags that differ only in capitals, so such tags can't be kept apart.
    """
    counts = count_all(version)
    if name in counts:
        return name
    return next((tag for tag in counts if tag.casefold() == name.casefold()), "")


def count(name: str) -> int:
    """Return the number of pages, photos and files with the tag `name`."""
    return sum(
        database()[collection].count_documents({"metadata.tags": name, **node_filter(collection)})
        for collection in (NODES, ASSET_FILES)
    )


def _stored_tag(stored: Mapping[str, Any]) -> StoredTag:
    return StoredTag(
        stored["_id"],
        stored.get("description", ""),
        stored.get("renamed_to", ""),
        stored.get("is_renaming", False),
        stored.get("pages", 0),
        stored["nonce"],
    )
