"""Determine the scope of a save, and thereby the site versions that it renews (nodes.models.stored_site.Scope)."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from nodes import content
from nodes.content import declared_fields
from nodes.models.stored_site import Scope
from nodes.types import TagChange

# The metadata fields that no list reads. Lists may read any other field, including future fields. For `detail`, see
# `_long_texts`. Tags have versions of their own (`changed_tags`).
UNLISTED = frozenset({"nonce", "updated", "detail", "tags"})
# The fields for the place and the publication dates of a node. URLs, menus, cursors and scheduled changes depend on
# them.
PLACED_BY = ("parent_id", "slug", "published", "expires")
# The derived data that lists read. Only searches and editors use other derived data.
DERIVED = ("excerpt", "picture", "minutes", "facets", "date")
# The fields that must be read in addition to the metadata for comparing derived data.
FIELDS = {f"derived.{name}": 1 for name in DERIVED}


def of_save(stored: Mapping[str, Any], after: Mapping[str, Any], derived: Mapping[str, Any]) -> Scope:
    """Return the scope of a save.

    Saving a section always changes the tree, and saving a public photo always changes lists. If a node isn't public
    before or after the save, only editors see the change.

    Args:
        stored: The node before the save, read with FIELDS.
        after: The node's new metadata.
        derived: The node's new derived data.
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
    """Return the scope for creating a node or photo with this metadata."""
    is_seen = content.get(metadata["type"]).is_section or metadata["published"] is not None
    return Scope.SITE if is_seen else Scope.TEXTS


def changed_tags(stored: Mapping[str, Any], after: Mapping[str, Any], change: TagChange) -> set[str]:
    """Return the tags that a save adds or removes, and all tags in `change`.

    All tags in `change` are included, because another writer may have applied a part of the change and died before it
    invalidated the caches.
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
        # Lists that are sorted by a date field may read the whole `detail` (reader.selectors.dates).
        return frozenset()
    fields = declared_fields.declared(type).values()
    return frozenset(field.column for field in fields if isinstance(field, models.TextField))
