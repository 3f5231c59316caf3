"""Comments on nodes: which nodes show them, by which rules they are taken, and when they go."""

from collections.abc import Iterable
from typing import Any

from bson import ObjectId
from django.core import checks
from django.db.models import Model
from django.dispatch import receiver

from editor import relogin
from marginalia import comments
from marginalia.comments.backends import layout_classes, may_keep
from marginalia.comments.posting import services
from marginalia.comments.posting.policy import Mode, Policy, closing
from marginalia.comments.types import Target
from marginalia.mongo.clock import now
from nodes.content import PHOTO, Content, registry
from nodes.models import BaseNode, Node, Photo, stored_site, tree
from nodes.selectors import stored_nodes, stored_photos
from nodes.signals import node_deleted


def register() -> None:
    """Have nodes and photos discussed, and a moderator's edit kept as the forms of nodes are."""
    relogin.FORMS["marginalia_comments_moderation_comment"] = "text"
    comments.register(Node, visible=live_nodes)
    comments.register(Photo, visible=live_photos)


def live_nodes(ids: list[ObjectId]) -> Iterable[Model]:
    """Return the nodes that readers may see: the live ones in live sections."""
    return stored_nodes.live_by_ids(tree.current(), ids, now())


def live_photos(ids: list[ObjectId]) -> Iterable[Model]:
    """Return the photos that readers may see: the live ones in live sections."""
    return stored_photos.live_by_ids(tree.current(), ids, now())


def policy(obj: Any) -> Policy:
    """Return the policy of a node: its own or its type's, else that of the nearest section that has one, else the site's."""
    settings = stored_site.current().settings
    mode = settings.comment_policy
    published = None
    if isinstance(obj, BaseNode):
        published = obj.metadata.published
        mode = _own_mode(obj) or mode
    return Policy(Mode(mode), closing(published, settings.comments_close_after_days))


def _own_mode(node: BaseNode) -> str:
    """Return what the node, or the nearest section above it that says anything, has for a mode."""
    own = node.metadata.detail.comments if node.metadata.detail else ""
    above = reversed(tree.current().ancestors(node.metadata.parent_id) or [])
    said = ((own, node.content_type), *((section.comments, section.content_type) for section in above))
    return next((mode for chosen, type in said for mode in (chosen, type.comment_policy) if mode in tuple(Mode)), "")


def authors(obj: Any) -> frozenset[str]:
    """Return the account that wrote a node, if any: COMMENTS["AUTHORS"]."""
    author = obj.metadata.author if isinstance(obj, BaseNode) else None
    return frozenset({str(author.id)}) if author and author.id else frozenset()


def layout(target: Target) -> str:
    """Return the storage layout in which the discussion of a node is begun: its type's, else that of the nearest section whose
    type says one; "" for the one in settings, and for what is no node."""
    labels = {model._meta.label_lower: home for model, home in ((Node, stored_nodes.get), (Photo, stored_photos.get))}
    # Only where a type says anything is the node worth a look.
    if target.label not in labels or not any(type.comment_layout for type in registry.types()):
        return ""
    node = labels[target.label](target.pk)
    if node is None:
        return ""
    above = reversed(tree.current().ancestors(node.metadata.parent_id) or [])
    said = (node.content_type, *(section.content_type for section in above))
    return next((type.comment_layout for type in said if type.comment_layout), "")


@checks.register()
def check_layouts(**kwargs: Any) -> list[checks.CheckMessage]:
    """cms.E001: a content type names a layout that there is not, or in which its discussions cannot be kept."""
    found: list[checks.CheckMessage] = []
    for type in registry.types():
        if not (name := type.comment_layout):
            continue
        labels = {_label(inside) for inside in registry.types() if inside is type or _holds(type, inside)}
        fitting = [known for known in layout_classes() if all(may_keep(known, label) for label in labels)]
        if name not in fitting:
            message = f"{type.__module__}.{type.__name__}.comment_layout cannot be {name!r}."
            hint = f"One of {', '.join(fitting)}; COMMENTS['TARGETS'] says whose documents may hold comments."
            found.append(checks.Error(message, hint=hint, obj=type, id="cms.E001"))
    return found


def _holds(section: type[Content], inside: type[Content]) -> bool:
    return section.is_section and inside.may_stand_in(section)


def _label(type: type[Content]) -> str:
    return str((Photo if type.is_file else Node)._meta.label_lower)


@receiver(node_deleted)
def forget_discussion(*, node_id: ObjectId, type: str, **kwargs: Any) -> None:
    """Delete the discussion of a node or photo of this type that was deleted for good."""
    model = Photo if type == PHOTO else Node
    services.forget(Target(model._meta.label_lower, str(node_id)))
