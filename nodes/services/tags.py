"""Describe and rename tags.

A rename is stored first, so that it can be resumed. Then the pages are changed one by one. Renaming a tag to an existing
tag merges the two. The URL of the former name redirects to the current name (reader.views.pages.tag).
"""

from contextlib import suppress

from bson import ObjectId
from django.utils.translation import gettext as _
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.connection import database
from marginalia.tasks import task, worker
from nodes.collections import ASSET_FILES, NODES, TAGS, TRASH, node_filter
from nodes.errors import FieldRefused, NodeGone, TagBusy, TagChanged
from nodes.models.documents import derived_of
from nodes.models.stored_site import Scope
from nodes.selectors import stored_tags
from nodes.selectors.stored_tags import StoredTag
from nodes.services import derived, drafts, editing, rules
from nodes.services.site import invalidate
from nodes.tags import normalized
from nodes.types import TagChange

# A tag with at most this many pages is renamed during the request. This usually takes less than a second.
MAX_IMMEDIATE = 100
# The number of pages that are read at once.
BATCH = 500


def describe(name: str, description: str, seen: ObjectId | None) -> ObjectId:
    """Store the description of a tag, and return the tag's new nonce.

    Args:
        name: The tag.
        description: The description, which readers see on the tag's page.
        seen: The nonce of the stored tag that the editor saw, or None if nothing was stored.

    Raises:
        TagChanged: Someone else has changed the tag.
    """
    nonce = ObjectId()
    fields = {"description": description, "nonce": nonce}
    if seen is None:
        try:
            database()[TAGS].insert_one({"_id": name, **fields})
        except DuplicateKeyError as error:
            raise TagChanged from error
    elif not database()[TAGS].update_one({"_id": name, "nonce": seen}, {"$set": fields}).matched_count:
        raise TagChanged
    invalidate(Scope.LISTS)
    return nonce


def import_tag(name: str, description: str, renamed_to: str) -> None:
    """Store the description and the new name of a tag from another site, unless something is stored about the tag."""
    fields = {"nonce": ObjectId(), "description": description}
    if renamed_to:
        fields["renamed_to"] = renamed_to
    with suppress(DuplicateKeyError):
        database()[TAGS].insert_one({"_id": name, **fields})


def check_new_name(name: str, new_name: str) -> None:
    """Check whether the tag `name` can be renamed to `new_name`.

    Raises:
        FieldRefused: `new_name` can't be a tag.
        TagBusy: One of the tags is being renamed.
    """
    if not new_name or normalized(new_name) != new_name:
        raise FieldRefused("tags", _("Enter a tag with at least one letter or digit."))
    rules.check_tags([new_name])
    for other in stored_tags.being_renamed():
        if {other.name, other.renamed_to} & {name, new_name}:
            raise TagBusy(other.name)


def rename(name: str, new_name: str, seen: ObjectId | None) -> bool:
    """Rename a tag on all pages. If there are many pages, a worker does so.

    Args:
        name: The tag.
        new_name: The new name. If it is also a tag, the two tags are merged.
        seen: The nonce of the stored tag that the editor saw, or None if nothing was stored.

    Returns:
        Whether the rename is complete.

    Raises:
        FieldRefused: `new_name` can't be a tag.
        TagBusy: One of the tags is being renamed.
        TagChanged: Someone else has changed the tag.
    """
    check_new_name(name, new_name)
    pages = stored_tags.count(name)
    fields = {"renamed_to": new_name, "is_renaming": True, "pages": pages, "nonce": ObjectId()}
    try:
        done = database()[TAGS].update_one({"_id": name, "nonce": seen}, {"$set": fields}, upsert=seen is None)
    except DuplicateKeyError as error:
        raise TagChanged from error
    if not (done.matched_count or done.upserted_id):
        raise TagChanged
    if pages > MAX_IMMEDIATE:
        enqueue(stored_tags.get(name))
        return False
    finish_rename(name)
    return True


@worker.regularly
def resume_renames() -> None:
    """Enqueue the renames that haven't been completed, in case a process crashed."""
    for tag in stored_tags.being_renamed():
        enqueue(tag)


def enqueue(tag: StoredTag) -> None:
    """Enqueue the rename of a tag, unless it is already in the queue."""
    finish_rename_task.using(key=f"rename-tag:{tag.nonce}").enqueue(tag.name)


@task(stored_as="nodes.rename_tag")
def finish_rename_task(name: str) -> None:
    """Complete a rename in the worker."""
    finish_rename(name)


def finish_rename(name: str) -> None:
    """Complete the rename of a tag. This function can be called again after a crash, or by several processes at once.

    Raises:
        TooBusy: Other writers kept changing a page.
    """
    tag = stored_tags.get(name)
    if not tag.is_renaming:
        return
    _move_description(tag)
    # The current name of a tag must not redirect to another tag, for example after it was renamed back.
    database()[TAGS].update_one({"_id": tag.renamed_to}, {"$unset": {"renamed_to": "", "pages": ""}})
    database()[TAGS].update_many({"renamed_to": name}, {"$set": {"renamed_to": tag.renamed_to}})
    _rename_on_pages(tag)
    _rename_in_trash(tag)
    done = {"_id": name, "nonce": tag.nonce}
    database()[TAGS].update_one(done, {"$unset": {"is_renaming": "", "description": ""}})
    invalidate(Scope.LISTS)


def _move_description(tag: StoredTag) -> None:
    """Give the description to the new name, unless the new name already has a description."""
    if tag.description:
        undescribed = {"_id": tag.renamed_to, "description": {"$in": [None, ""]}}
        moved = {"description": tag.description, "nonce": ObjectId()}
        # If the new name has a description, the filter doesn't match, and the upsert raises DuplicateKeyError.
        with suppress(DuplicateKeyError):
            database()[TAGS].update_one(undescribed, {"$set": moved}, upsert=True)


def _rename_on_pages(tag: StoredTag) -> None:
    change = TagChange(added=frozenset({tag.renamed_to}), removed=frozenset({tag.name}))
    for collection in (NODES, ASSET_FILES):
        # Changed pages no longer match, so the query is repeated until it finds nothing.
        query = {"metadata.tags": tag.name, **node_filter(collection)}
        while ids := [node["_id"] for node in database()[collection].find(query, {"_id": 1}).limit(BATCH)]:
            for node_id in ids:
                with suppress(NodeGone):
                    editing.change_tags(node_id, change, collection)
    for node_id in drafts.ids_with_tag(tag.name):
        drafts.rename_tag(node_id, change)


def _rename_in_trash(tag: StoredTag) -> None:
    change = TagChange(added=frozenset({tag.renamed_to}), removed=frozenset({tag.name}))
    for stored in database()[TRASH].find({"metadata.tags": tag.name}, {"metadata": 1, "derived.language": 1}):
        present = stored["metadata"]["tags"]
        update = derived.change_tags(change.applied(present), derived_of(stored))
        database()[TRASH].update_one({"_id": stored["_id"], "metadata.tags": present}, update)
