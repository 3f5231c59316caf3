"""How far a save reaches: which of the site's versions it gives anew (nodes.models.stored_site.Scope)."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from nodes import content
from nodes.content import declared_fields
from nodes.models.stored_site import Scope
from nodes.types import TagChange

# What no list reads of a node's metadata; of its detail, see _long_texts. Whatever else there is, or will be, lists may read.
# Tags have versions of their own (`tags`).
UNLISTED = frozenset({"nonce", "updated", "detail", "tags"})
# Where a node stands, and from when to when it is public: addresses, menus, cursors and due times go by these.
PLACED_BY = ("parent_id", "slug", "published", "expires")
# What lists read of what is derived from a text. The rest is for search and for editors.
DERIVED = ("excerpt", "picture", "minutes", "facets", "date")
# What is read of a stored node beside its metadata, to be compared.
FIELDS = {f"derived.{name}": 1 for name in DERIVED}


def of_save(stored: Mapping[str, Any], after: Mapping[str, Any], derived: Mapping[str, Any]) -> Scope:
    """Return how far a save reaches: of a node as it is stored (with FIELDS), the metadata that it gets, and what is derived.

    Sections are in the tree, public photos in lists with all that they have: any save of these is seen there. What is not
    public, before a save nor after it, editors alone see.
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
    """Return how far a node or photo reaches that is made, of its metadata."""
    is_seen = content.get(metadata["type"]).is_section or metadata["published"] is not None
    return Scope.SITE if is_seen else Scope.TEXTS


def changed_tags(stored: Mapping[str, Any], after: Mapping[str, Any], change: TagChange) -> set[str]:
    """Return the tags that come or go with a save, and all that its change names: part of that may be made already, by another
    writer who died before telling of it."""
    return set(stored["metadata"]["tags"]) ^ set(after["tags"]) | change.added | change.removed


def _differs_in_lists(stored: Mapping[str, Any], after: Mapping[str, Any], derived: Mapping[str, Any]) -> bool:
    before = stored["metadata"]
    known = stored.get("derived", {})
    if any(before.get(name) != after.get(name) for name in (before.keys() | after.keys()) - UNLISTED):
        return True
    said = before.get("detail") or {}
    says = after.get("detail") or {}
    if any(said.get(name) != says.get(name) for name in (said.keys() | says.keys()) - _long_texts(after["type"])):
        return True
    return any(known.get(name) != derived.get(name) for name in DERIVED)


def _long_texts(type: str) -> frozenset[str]:
    """Return the names of the fields of a type, as they are stored, that are read by its own page alone."""
    if content.get(type).date_field:
        # Lists by a date of their own may read whole details (reader.selectors.dates).
        return frozenset()
    fields = declared_fields.declared(type).values()
    return frozenset(field.column for field in fields if isinstance(field, models.TextField))
