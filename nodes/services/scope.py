"""The scope of a save: the versions of the site that it renews (nodes.models.stored_site.Scope)."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from nodes import content
from nodes.content import declared_fields
from nodes.models.stored_site import Scope
from nodes.types import TagChange

# Metadata that no list reads. For the detail, see _long_texts. Lists may read all other fields, including future ones.
# Tags have their own versions (changed_tags).
UNLISTED = frozenset({"nonce", "updated", "detail", "tags"})
# The place of a node and its publication dates. URLs, menus, cursors and scheduled times depend on them.
PLACED_BY = ("parent_id", "slug", "published", "expires")
# Derived data that lists read. All other derived data is for search and for editors.
DERIVED = ("excerpt", "picture", "minutes", "facets", "date")
# Fields that are read in addition to the metadata, for comparison.
FIELDS = {f"derived.{name}": 1 for name in DERIVED}


def of_save(stored: Mapping[str, Any], after: Mapping[str, Any], derived: Mapping[str, Any]) -> Scope:
    """Return the scope of a save.

    Any save of a section changes the tree, and any save of a public photo changes lists. Only editors see a save of a
    node that isn't public before or after it.

    Args:
        stored: The node before the save, read with FIELDS.
        after: Its new metadata.
        derived: Its new derived data.
    """
    before = stored["metadata"]
    type = content.get(after["type"])
    if not type.is_section and before["published"] is None and after["published"] is None:
        return Scope.TEXTS
    if type.is_section or any(before.get(name) != after.get(name) for name in PLACED_BY):
        return Scope.SITE
    if type.is_file or _differs_in_lists(stored, after, derived):
        return Scope.SITE if after["parent_id"] is None else Scope.LISTS
    return Scope.TEXTS


def of_new(metadata: Mapping[str, Any]) -> Scope:
    """Return the scope of the creation of a node or photo with this `metadata`."""
    is_seen = content.get(metadata["type"]).is_section or metadata["published"] is not None
    return Scope.SITE if is_seen else Scope.TEXTS


def changed_tags(stored: Mapping[str, Any], after: Mapping[str, Any], change: TagChange) -> set[str]:
    """Return the tags that a save adds or removes, and all tags in its `change`.

    All tags of the change are included, because another writer may have made a part of it and died before the
    invalidation.
    """
    return set(stored["metadata"]["tags"]) ^ set(after["tags"]) | change.added | change.removed


def _differs_in_lists(stored: Mapping[str, Any], after: Mapping[str, Any], derived: Mapping[str, Any]) -> bool:
    before = stored["metadata"]
    known = stored.get("derived", {})
    if any(before.get(name) != after.get(name) for name in (before.keys() | after.keys()) - UNLISTED):
        return True
    old = before.get("detail") or {}
    new = after.get("detail") or {}
    if any(old.get(name) != new.get(name) for name in (old.keys() | new.keys()) - _long_texts(after["type"])):
        return True
    return any(known.get(name) != derived.get(name) for name in DERIVED)


def _long_texts(type: str) -> frozenset[str]:
    """Return the stored names of the fields that only the node's own page reads."""
    if content.get(type).date_field:
        # Lists by a date field may read whole details (reader.selectors.dates).
        return frozenset()
    fields = declared_fields.declared(type).values()
    return frozenset(field.column for field in fields if isinstance(field, models.TextField))
