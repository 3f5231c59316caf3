"""Copy nodes. A copy is a new, unpublished node with the same content, in the same section or a different one."""

from collections.abc import Iterator

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes import merging
from nodes.content import declared_fields, uniqueness
from nodes.content.declared_fields import PREFIX
from nodes.services import drafts
from nodes.services.editing import create
from nodes.types import Actor, Saved

_NOT_COPIED = frozenset({"slug", "parent_id", "title", "published", "author", "detail.source"})


def duplicate(
    actor: Actor,
    node_id: ObjectId,
    *,
    parent_id: ObjectId | None,
    new_id: ObjectId | None = None,
    only_unpublished: bool = False,
) -> Saved:
    """Copy a node, including the changes in its draft, into a section.

    The copy is unpublished, and its author is `actor`. Sections are copied without their contents. If fields must be
    unique together, the first optional field among them is left empty in the copy.

    Args:
        actor: The author of the copy.
        node_id: The node to copy.
        parent_id: The section for the copy, or None for the top level.
        new_id: The id of the copy. If the call is repeated with the same id, no second copy is created.
        only_unpublished: Whether to raise Published if a repeated call finds that the copy has been published.

    Raises:
        NodeGone: The node no longer exists.
        IdTaken: The id belongs to another document.
        InvalidPlace: The section can't contain the copy.
        NotUnique: The copy would have the same values in fields that must be unique together.
        Published: The copy has been published since the first call.
        NewerVersion: The node was stored by a newer release.
        NotUpgraded: The node could not be upgraded to the current version of its type.
    """
    # load() rejects nodes with a newer version of their type, because a copy would lose the fields that this release
    # doesn't support.
    metadata = drafts.with_draft(drafts.load(node_id))
    known = declared_fields.keep_declared(metadata["type"], merging.fields(metadata))
    emptied = set(_emptied(metadata["type"]))
    kept = {path: value for path, value in known.items() if path not in _NOT_COPIED | emptied}
    return create(
        actor,
        type=metadata["type"],
        parent_id=parent_id,
        slug="",
        title=_("Copy of %(title)s") % {"title": metadata["title"]},
        fields=kept,
        tags=tuple(metadata["tags"]),
        node_id=new_id,
        only_unpublished=only_unpublished,
    )


def _emptied(type: str) -> Iterator[str]:
    """Yield the paths of the fields that a copy leaves empty, because their values must be unique."""
    for fields in uniqueness.combinations(type):
        if field := next((field for field in fields if field.null or field.blank), None):
            yield f"{PREFIX}{field.column}"
