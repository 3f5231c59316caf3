"""Queries for photos. nodes.selectors.listing defines which photos readers can see.

Lists show all fields of a photo, so saving a photo always updates the site's `lists` version.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint, read_document
from nodes.collections import ASSET_FILES, CHANGED, keys_of, node_filter
from nodes.content import CONTENT, PHOTO
from nodes.models import File, Photo, node_from_document
from nodes.models.dependencies import on_lists
from nodes.models.tree import Tree, current
from nodes.selectors import stored_assets
from nodes.selectors.listing import WHOLE, is_public, readable_nodes

# Maximum number of duplicates to report.
MOST_DUPLICATES = 5
MOST_VALUES = 200


def get(photo_id: ObjectId | str, gallery_id: ObjectId | None = None) -> Photo | None:
    """Return a photo by id, live or not. If it doesn't exist or its first upload is still in progress, return None.

    The gallery `gallery_id` is searched first.
    """
    asset = stored_assets.get(photo_id, gallery_id)
    return asset if isinstance(asset, Photo) else None


def same_bytes(sha256: str, but: ObjectId | None = None) -> tuple[ObjectId, ...]:
    """Return the ids of up to MOST_DUPLICATES photos whose current file has this hash, excluding `but`."""
    documents = database()[ASSET_FILES].find(
        {"metadata.detail.sha256": sha256, "metadata.type": PHOTO, "_id": {"$ne": but}, **node_filter(ASSET_FILES)},
        {"_id": 1},
    )
    return tuple(document["_id"] for document in documents.limit(MOST_DUPLICATES))


def last_gallery(author_id: ObjectId) -> ObjectId | None:
    """Return the gallery of the photo that the given author last changed, or None if there isn't one."""
    newest = database()[ASSET_FILES].find_one(
        {"metadata.author._id": author_id, "metadata.type": PHOTO, **node_filter(ASSET_FILES)},
        {"metadata.parent_id": 1},
        sort=[("metadata.updated", -1)],
    )
    return newest["metadata"].get("parent_id") if newest else None


@on_lists
def find(gallery_id: ObjectId | None, slug: str) -> Photo | None:
    """Return the photo with the given gallery and slug, live or not, or None if there isn't one."""
    place = {"metadata.parent_id": gallery_id, "metadata.slug": slug}
    document = database()[ASSET_FILES].find_one({**place, **node_filter(ASSET_FILES)}, WHOLE)
    photo = read_document(ASSET_FILES, document, node_from_document)
    return photo if isinstance(photo, Photo) else None


def last_change() -> ObjectId | None:
    """Return the nonce of the photo that was changed last, or None if there are no photos."""
    newest = database()[ASSET_FILES].find_one(node_filter(ASSET_FILES), {"metadata.nonce": 1}, sort=list(CHANGED))
    return newest["metadata"].get("nonce") if newest else None


@lru_cache(maxsize=16)
def values(name: str, version: Hashable) -> tuple[Any, ...]:
    """Return the sorted values that a property has in all photo files, for example all cameras, lenses or years.

    All photos with the property are read, so the result is cached for each `version`. For example, a version can
    consist of `last_change` and the time, rounded to ten minutes.
    """
    pipeline: list[dict[str, Any]] = [
        {"$match": {"metadata.detail.exif": {"$elemMatch": {"n": name}}, **node_filter(ASSET_FILES)}},
        {"$unwind": "$metadata.detail.exif"},
        {"$match": {"metadata.detail.exif.n": name}},
        {"$group": {"_id": "$metadata.detail.exif.v"}},
        {"$sort": {"_id": 1}},
        {"$limit": MOST_VALUES},
    ]
    groups = aggregate_with_hint(database()[ASSET_FILES], pipeline, keys_of("by_exif", ASSET_FILES))
    return tuple(group["_id"] for group in groups)


@dataclass(frozen=True)
class FormerContent:
    """A photo's previous file, which can still be restored."""

    id: ObjectId
    filename: str
    length: int
    uploaded: datetime


def former_contents(photo: Photo | File) -> list[FormerContent]:
    """Return the previous files of a photo, or the previous versions of a file, that haven't been deleted yet, latest first."""
    mine = {"metadata.parent_id": photo.pk, "metadata.type": CONTENT, "metadata.locked": None}
    either = {"$or": [mine, {"_id": photo.pk}], "metadata.doomed": None, "length": {"$gt": 0}}
    fields = {"filename": 1, "length": 1, "uploadDate": 1}
    documents = database()[ASSET_FILES].find({**either, "_id": {"$ne": photo.metadata.content_id}}, fields)
    contents = [FormerContent(d["_id"], d["filename"], d["length"], d["uploadDate"]) for d in documents]
    return sorted(contents, key=lambda former: former.uploaded, reverse=True)


def by_ids(photo_ids: Sequence[ObjectId]) -> list[Photo]:
    """Return the photos with these ids, live or not, in any order."""
    return [asset for asset in stored_assets.by_ids(photo_ids) if isinstance(asset, Photo)]


@on_lists
def by_slugs(gallery_ids: Sequence[ObjectId], slugs: Sequence[str]) -> list[Photo]:
    """Return the photos, live or not, that have one of these slugs in one of these galleries, in any order."""
    place = {"metadata.parent_id": {"$in": list(gallery_ids)}, "metadata.slug": {"$in": list(slugs)}}
    documents = database()[ASSET_FILES].find({**place, **node_filter(ASSET_FILES)}, WHOLE)
    return [asset for asset in readable_nodes(ASSET_FILES, documents) if isinstance(asset, Photo)]


def live_by_ids(sections: Tree, photo_ids: Sequence[ObjectId], moment: datetime) -> list[Photo]:
    """Return the public photos with these ids, in any order."""
    return [photo for photo in by_ids(photo_ids) if is_public(photo, sections, moment)]


def by_references(references: Sequence[str]) -> dict[str, Photo]:
    """Return photos, live or not, keyed by the references that text contains: an id, a slug or "gallery/slug".

    If several photos have the same slug, the reference refers to the newest photo. One query finds all ids, and a
    second query finds all slugs.
    """
    if not references:
        return {}
    by_id = {name: ObjectId(name) for name in references if ObjectId.is_valid(name)}
    by_references = {name: name.rpartition("/") for name in references if name not in by_id}
    galleries = {section.id: section.slug for section in current().sections.values()}
    photos = {photo.pk: photo for photo in by_ids(list(by_id.values()))}
    by_name = {name: photos[photo_id] for name, photo_id in by_id.items() if photo_id in photos}
    slugs = sorted({slug for _gallery, _slash, slug in by_references.values()})
    for photo in by_slugs(list(galleries), slugs) if slugs else ():
        for name, (gallery, _slash, slug) in by_references.items():
            is_in_gallery = gallery.rpartition("/")[2] in ("", galleries[photo.metadata.parent_id])
            is_newest = name not in by_name or by_name[name].pk < photo.pk
            if slug == photo.metadata.slug and is_in_gallery and is_newest:
                by_name[name] = photo
    return by_name
