"""Determine the scope of a save (nodes.models.stored_site.Scope). The scope specifies which versions to update."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from nodes import content
from nodes.content import declared_fields
from nodes.models.stored_site import Scope
from nodes.types import TagChange

# The metadata fields that no list reads. Lists can read any other field, including fields that are added later. For
# `detail`, see `_long_texts`. Tags have separate versions (`changed_tags`).
UNLISTED = frozenset({"nonce", "updated", "detail", "tags"})
# The fields that determine a node's URL and publication. URLs, menus, cursors and scheduled changes depend on them.
PLACED_BY = ("parent_id", "slug", "published", "expires")
# The derived data that lists read. Only searches and editors use other derived data.
DERIVED = ("excerpt", "language", "picture", "minutes", "facets", "date")
# To compare derived data, a save must read these fields, in addition to the metadata.
FIELDS = {f"derived.{name}": 1 for name in DERIVED}


def of_save(stored: Mapping[str, Any], after: Mapping[str, Any], derived: Mapping[str, Any]) -> Scope:
    """Return the scope of a save.

    Saving a section always changes the tree, and saving a public photo always changes lists. If a node is public
    neither before nor after the save, only editors see the change.

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

    All tags in `change` are included, because another writer may have applied a part of the change and then crashed
    before it invalidated the caches.
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
    """Return the stored names of the fields in `detail` that only the node's own page reads."""
    if content.get(type).date_field:
        # Lists that are sorted by a date field can read the whole `detail` (reader.selectors.dates).
        return frozenset()
    fields = declared_fields.declared(type).values()
    return frozenset(field.column for field in fields if isinstance(field, models.TextField))
