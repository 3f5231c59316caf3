"""Copying nodes. A copy is a new, unpublished node with the same text, in the same or another section."""

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes import merging
from nodes.content import declared_fields
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
    """Copy a node into a section as an unpublished node by `actor`, with the changes of its draft.

    A section is copied without its contents.

    Args:
        actor: The author of the copy.
        node_id: The node to copy.
        parent_id: The section for the copy. None is the top level.
        new_id: The id of the copy. A repeated call with the same id makes no second copy.
        only_unpublished: Whether such a call refuses a copy that was published since.

    Raises:
        NodeGone: The node no longer exists.
        IdTaken: The id belongs to another document.
        InvalidPlace: The section can't contain the copy.
        Published: The copy was published since the first call.
        NewerVersion: A newer release stored the node.
        NotUpgraded: An upgrader failed on the node.
    """
    # load() refuses nodes of a newer version, because a copy would lack their unknown fields.
    metadata = drafts.with_draft(drafts.load(node_id))
    known = declared_fields.keep_declared(metadata["type"], merging.fields(metadata))
    kept = {path: value for path, value in known.items() if path not in _NOT_COPIED}
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
