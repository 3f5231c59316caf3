"""Copying a node: a new one with the same text, unpublished, in the same or another section."""

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
    """Copy a node into a section, as a draft by `actor`, with the changes of its draft. A section is copied without what
    stands in it.

    `new_id`: the copy's id, chosen beforehand: repeated with the same, it makes no other; with `only_unpublished` it leaves
    alone what was published since. Raises NodeGone, IdTaken, InvalidPlace, Published,
    NewerVersion, NotUpgraded.
    """
    # Of a newer version a copy would lack what is not known: reading refuses it.
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
