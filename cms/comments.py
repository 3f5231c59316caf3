"""Comments on nodes: which nodes show them, by which rules they are taken, and when they go."""

from collections.abc import Iterable
from typing import Any

from bson import ObjectId
from django.db.models import Model
from django.dispatch import receiver

import comments
from comments.posting import services
from comments.posting.policy import Mode, Policy, closing
from comments.types import Target
from mongo.clock import now
from nodes.admin import relogin
from nodes.content import PHOTO
from nodes.models import Node, Photo, Placed, tree
from nodes.models import site as stored_site
from nodes.selectors import nodes as selectors
from nodes.selectors import photos
from nodes.signals import node_deleted


def register() -> None:
    """Have nodes and photos discussed, and a moderator's edit kept as the forms of nodes are."""
    relogin.FORMS["comments_moderation_comment"] = "text"
    comments.register(Node, visible=live_nodes)
    comments.register(Photo, visible=live_photos)


def live_nodes(ids: list[ObjectId]) -> Iterable[Model]:
    """Return the nodes that readers may see: the live ones in live sections."""
    return selectors.live_by_ids(tree.current(), ids, now())


def live_photos(ids: list[ObjectId]) -> Iterable[Model]:
    """Return the photos that readers may see: the live ones in live sections."""
    return photos.live_by_ids(tree.current(), ids, now())


def policy(obj: Any) -> Policy:
    """Return the policy of a node: its own or its type's, else that of the nearest section that has one, else the site's."""
    settings = stored_site.current().settings
    mode = settings.comment_policy
    published = None
    if isinstance(obj, Placed):
        published = obj.metadata.published
        mode = _own_mode(obj) or mode
    return Policy(Mode(mode), closing(published, settings.comments_close_after_days))


def _own_mode(node: Placed) -> str:
    """Return what the node, or the nearest section above it that says anything, has for a mode."""
    own = node.metadata.detail.comments if node.metadata.detail else ""
    above = reversed(tree.current().ancestors(node.metadata.parent_id) or [])
    said = ((own, node.content_type), *((section.comments, section.content_type) for section in above))
    return next((mode for chosen, type in said for mode in (chosen, type.comment_policy) if mode in tuple(Mode)), "")


@receiver(node_deleted)
def forget_discussion(*, node_id: ObjectId, type: str, **kwargs: Any) -> None:
    """Delete the discussion of a node or photo of this type that was deleted for good."""
    model = Photo if type == PHOTO else Node
    services.forget(Target(model._meta.label_lower, str(node_id)))
