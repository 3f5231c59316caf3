"""Permissions on nodes. Every admin page uses these checks.

Authors can edit a node of their own directly until the node is published. After that, they can edit only its draft.
Editors (users with permission to publish) can do everything except delete nodes permanently, which only administrators
can do. If a user can't see a node, the response is a 404, which doesn't reveal whether the node exists. Photos have no
owner. Writers can see the photo library and add photos to it. Users with permission to publish, or to change photos,
can change the photos in the library.
"""

import enum
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from marginalia.mongo.clock import now
from nodes import content
from nodes.content import FILE, Content, declared_fields, registry
from nodes.errors import InvalidPlace
from nodes.models import File, Node, Photo, tree
from nodes.selectors import editable_nodes, stored_assets, trash
from nodes.selectors.content_queries import ContentQuery
from nodes.selectors.editable_nodes import Editable
from nodes.selectors.listing import live, public_filter
from nodes.types import Actor

T = TypeVar("T", bound=Content)

# The message is also used for sections that the user can't see, so it doesn't reveal whether such a section exists.
NO_SUCH_SECTION = gettext_lazy("Choose an existing section that can contain this page.")
# The value that represents the top level in lists of choices.
TOP = "top"
# The permissions with which users can see photos that aren't public. Any one of these permissions is enough.
_PHOTO_VIEW_PERMISSIONS = ("view_photo", "add_photo", "change_photo", "add_node", "publish_node")


class NodePermission(enum.StrEnum):
    """A permission to do something with a node."""

    VIEW = "view"  # This also permits previewing, comparing and copying the node, and viewing its history.
    EDIT = "edit"
    DRAFT = "draft"
    PUBLISH = "publish"
    MOVE = "move"
    TRASH = "trash"
    DELETE = "delete"


_DATES = frozenset({"published", "expires"})
# The fields that only users with permission to publish can set.
PUBLISHER_FIELDS = _DATES | {"author", "detail.comments", "detail.trust_after"}
# The fields that only commands and imports can set. The same applies to fields that a content type declares as not
# editable.
_SYSTEM_FIELDS = frozenset({"created", "updated"})
# The fields that the user who uploaded a photo can change until the photo is published.
DESCRIBING_FIELDS = frozenset({"title", "summary", "tags", "detail.alt", "detail.focal"})


class FieldForbidden(PermissionDenied):
    """The user can't set the fields in `paths`."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(sorted(paths))
        super().__init__(self.reason(self.paths[0]))

    @staticmethod
    def reason(path: str) -> str:
        """Return the reason why the user can't set the field `path`."""
        if path in PUBLISHER_FIELDS:
            return _("You need publish permission to change this field.")
        return _("This field can't be changed here.")


@dataclass(frozen=True, init=False)
class System:
    """A user that represents commands and imports.

    It has every permission. The history shows `actor` as the author of its changes.
    """

    actor: Actor
    pk: None = None
    is_active = True
    is_staff = True

    def __init__(self, actor: Actor | str) -> None:
        """Create the user. `actor` is the author of its changes, or only the author's name."""
        object.__setattr__(self, "actor", actor if isinstance(actor, Actor) else Actor(None, actor))

    def has_perm(self, permission: str) -> bool:
        return True


# The permissions for actions that use the node's fields. Such actions are refused if the node's type isn't installed.
_CHANGING = frozenset({NodePermission.EDIT, NodePermission.DRAFT, NodePermission.PUBLISH, NodePermission.MOVE})


def allowed(user: Any, node: Node, permission: NodePermission) -> bool:
    """Return whether `user` has `permission` for `node`. The node can be a photo, and it can be in the trash."""
    if not _is_staff(user):
        return False
    if not node.content_type.is_installed and permission in _CHANGING:
        return False
    if permission is NodePermission.DELETE:
        return bool(user.has_perm("nodes.delete_node"))
    if node.content_type.is_file:
        return may_see_photos(user) if permission is NodePermission.VIEW else may_change_photos(user)
    if user.has_perm("nodes.publish_node"):
        return True
    if permission is NodePermission.VIEW and sees_all(user):
        return True
    author = node.metadata.author
    if (
        permission is NodePermission.PUBLISH
        or author is None
        or author.id != user.pk
        or not user.has_perm("nodes.change_node")
    ):
        return False
    return permission in (NodePermission.VIEW, NodePermission.DRAFT) or node.metadata.published is None


def node(user: Any, node_id: ObjectId, permission: NodePermission) -> Editable:
    """Return the node `node_id` after checking that `user` has `permission` for it.

    Raises:
        Http404: The node doesn't exist, or the user can't see it.
        PermissionDenied: The user can see the node, but lacks the permission.
    """
    return _checked(user, editable_nodes.load(node_id), permission)


def asset(
    user: Any, asset_id: ObjectId, permission: NodePermission, *, type: str = "", describes: bool = False
) -> Editable:
    """Perform the same checks as `node` for a photo or file, and return it.

    Args:
        user: The user.
        asset_id: The photo or file.
        permission: The permission to check.
        type: PHOTO or FILE if only this type is accepted, or "" for both.
        describes: Whether the action changes only the description. Until the photo or file is published, the user who
            uploaded it can perform such actions.

    Raises:
        Http404: The photo or file doesn't exist, or the user can't see it.
        PermissionDenied: The user can see the photo or file, but lacks the permission.
    """
    editable = stored_assets.load(asset_id) if may_see_photos(user) else None
    if editable is None or (type and editable.node.metadata.type != type):
        if type == FILE:
            raise Http404(_("This file doesn't exist, or you don't have permission to view it."))
        raise Http404(_("This photo doesn't exist, or you don't have permission to view it."))
    if not (may_describe(user, editable.node) if describes else allowed(user, editable.node, permission)):
        raise PermissionDenied
    return editable


def node_or_photo(user: Any, node_id: ObjectId, permission: NodePermission, *, describes: bool = False) -> Editable:
    """Perform the same checks as `node` and `asset`, and return the node, photo or file.

    Args:
        user: The user.
        node_id: The node or photo.
        permission: The permission to check.
        describes: Whether the action changes only a photo's description.

    Raises:
        Http404: The node or photo doesn't exist, or the user can't see it.
        PermissionDenied: The user can see the node or photo, but lacks the permission.
    """
    try:
        return node(user, node_id, permission)
    except Http404:
        with suppress(Http404):
            return asset(user, node_id, permission, describes=describes)
        raise


def trashed(user: Any, node_id: ObjectId, permission: NodePermission) -> Editable:
    """Perform the same checks as `node` for a node in the trash, and return the node.

    Raises:
        Http404: The node isn't in the trash, or the user can't see it.
        PermissionDenied: The user can see the node, but lacks the permission.
    """
    return _checked(user, trash.load(node_id), permission)


def trash_seen_by(user: Any) -> dict[str, Any] | None:
    """Return a filter for the trashed documents that `user` can see. If `user` can't open the trash, return None.

    The filter follows the same rules as `allowed`.
    """
    conditions: list[dict[str, Any]] = []
    if may_list(user):
        own = {} if sees_all(user) else {"metadata.author._id": user.pk}
        conditions.append({"metadata.type": {"$nin": list(registry.uploaded())}, **own})
    if may_see_photos(user):
        conditions.append({"metadata.type": {"$in": list(registry.uploaded())}})
    return {"$or": conditions} if conditions else None


def _checked(user: Any, editable: Editable | None, permission: NodePermission) -> Editable:
    if editable is None or not allowed(user, editable.node, NodePermission.VIEW):
        raise Http404(_("This page doesn't exist, or you don't have permission to view it."))
    if not allowed(user, editable.node, permission):
        raise PermissionDenied
    return editable


def changes_unpublished_only(user: Any) -> bool:
    """Return whether `user` can change only unpublished nodes.

    When services write a node for such a user, they check again that the node is unpublished.
    """
    return not user.has_perm("nodes.publish_node")


def bound_to_unpublished(user: Any, node: Node | Photo | File) -> bool:
    """Return whether `user` can change `node` only until it is published. The node can be a photo."""
    return not may_change_photos(user) if node.content_type.is_file else changes_unpublished_only(user)


def check_fields(user: Any, type: str, paths: Collection[str]) -> None:
    """Raise FieldForbidden if `user` can't set all of the fields in `paths` on a node of `type`.

    Setting some fields requires permission to publish. Users with permission to change photos can also publish photos,
    so they can set the dates of photos. Only commands and imports can set fields that aren't in any form.
    """
    forbidden = set() if user.has_perm("nodes.publish_node") else PUBLISHER_FIELDS & set(paths)
    if content.get(type).is_file and may_change_photos(user):
        forbidden -= _DATES
    if not isinstance(user, System):
        forbidden |= (_SYSTEM_FIELDS | declared_fields.internal_fields(type)) & set(paths)
    if forbidden:
        raise FieldForbidden(forbidden)


def sees_all(user: Any) -> bool:
    """Return whether `user` can see every node. Other users see only public nodes and their own nodes."""
    return bool(user.has_perm("nodes.publish_node") or user.has_perm("nodes.view_node"))


def seen_by(user: Any) -> dict[str, Any]:
    """Return a filter for the nodes that `user` can see: all nodes, or only public nodes and the user's own nodes."""
    return {} if sees_all(user) else {"$or": [live(now()), {"metadata.author._id": user.pk}]}


def visible_content(user: Any | None, type: type[T]) -> ContentQuery[T]:
    """Return the query for the pages of `type` that `user` can see: public pages, and pages that `allowed` permits.

    None stands for a visitor.
    """

    def visible(moment: datetime) -> dict[str, Any]:
        public = public_filter(tree.current(), moment)
        if user is None or not _is_staff(user):
            return public
        if sees_all(user):
            return {}
        return {"$or": [public, {"metadata.author._id": user.pk}]} if user.has_perm("nodes.change_node") else public

    return ContentQuery(type, visible, is_public=False)


def may_list(user: Any) -> bool:
    """Return whether `user` can open lists of nodes. Lists show only nodes that the user can see."""
    return sees_all(user) or bool(user.has_perm("nodes.change_node"))


def may_write(user: Any) -> bool:
    """Return whether `user` can write content and use the writing tools."""
    return bool(user.has_perm("nodes.add_node") or user.has_perm("nodes.change_node") or sees_all(user))


def may_create(user: Any, type: str) -> bool:
    """Return whether `user` can create nodes of `type`. Creating a section needs permission to publish.

    Always return False for photos, because photos are uploaded instead.
    """
    content_type = content.get(type)
    if content_type.is_file or not content_type.is_installed:
        return False
    return bool(user.has_perm("nodes.publish_node" if content_type.is_section else "nodes.add_node"))


def check_may_type(user: Any, type: str, node_id: ObjectId | None) -> None:
    """Raise PermissionDenied unless `user` can fill in the form for a node of `type`.

    For a new node, `node_id` is None.

    If the node no longer exists, or the user can no longer see it, the form is treated like the form of a new node.
    This way, the typed text isn't lost, and the form reveals nothing about the stored node.
    """
    if content.get(type).is_file:
        is_allowed = may_change_photos(user)
    else:
        editable = editable_nodes.load(node_id) if node_id else None
        visible_node = editable.node if editable and allowed(user, editable.node, NodePermission.VIEW) else None
        is_allowed = (
            may_create(user, type) if visible_node is None else allowed(user, visible_node, NodePermission.DRAFT)
        )
    if not is_allowed:
        raise PermissionDenied


def may_place(user: Any, section_id: ObjectId | None) -> bool:
    """Return whether `user` can put nodes into a section. Creating, moving and copying need this permission.

    Users without permission to publish can see and choose only public sections.
    """
    return bool(user.has_perm("nodes.publish_node")) or tree.current().is_live(section_id, now())


def check_may_place(user: Any, section_id: ObjectId | None, present: ObjectId | None = None) -> None:
    """Raise InvalidPlace if `user` can't move a node from the section `present` to the section `section_id`."""
    if section_id not in (None, present) and not may_place(user, section_id):
        raise InvalidPlace(NO_SUCH_SECTION)


def may_manage_tags(user: Any) -> bool:
    """Return whether `user` can describe, rename and merge tags, which changes pages and photos of other people."""
    return bool(user.has_perm("nodes.publish_node"))


def may_manage_redirects(user: Any) -> bool:
    """Return whether `user` can add, change and delete redirects."""
    return bool(user.has_perm("nodes.publish_node"))


def may_set_up(user: Any) -> bool:
    """Return whether `user` can change the site's settings and see information for operators."""
    return bool(user.has_perm("nodes.change_sitesettings"))


def top_label(type: str) -> str:
    """Return the label for the place outside all sections: the library for photos, the top level for other types."""
    return _("Library (not listed on the site)") if content.get(type).is_file else _("Top level")


def section_choices(user: Any, type: str = "", seen: ObjectId | None = None) -> list[tuple[str, str]]:
    """Return the sections that `user` can put nodes of `type` into, as form choices. Subsections are indented.

    Args:
        user: The user.
        type: The node's type. If `type` is empty, the choices don't depend on the type.
        seen: The section that currently contains the node. It is always one of the choices.
    """
    sections = tree.current()
    choices = []
    if (not type or content.may_hold(None, type)) and (may_place(user, None) or seen is None):
        choices.append((TOP, top_label(type)))

    def walk(parent_id: ObjectId | None, depth: int) -> None:
        for section in sections.children.get(parent_id, ()):
            fits = not type or content.may_hold(section.type, type)
            is_choice = fits and (section.id == seen or may_place(user, section.id))
            if is_choice:
                choices.append((str(section.id), "\u2003" * depth + section.title))
            walk(section.id, depth + is_choice)

    walk(None, 0)
    return choices


def chosen_section(choice: str) -> ObjectId | None:
    """Return the id of a section that was chosen from `section_choices`, or None for TOP."""
    return None if choice == TOP else ObjectId(choice)


def may_add(user: Any, type: str) -> bool:
    """Return whether `user` can create nodes of `type`, and a section that can contain them exists."""
    return may_create(user, type) and bool(section_choices(user, type))


def may_see_photos(user: Any) -> bool:
    """Return whether `user` can see photos that aren't public."""
    return _is_staff(user) and any(user.has_perm(f"nodes.{name}") for name in _PHOTO_VIEW_PERMISSIONS)


def may_add_photos(user: Any) -> bool:
    """Return whether `user` can upload new photos."""
    return _is_staff(user) and any(user.has_perm(f"nodes.{name}") for name in ("add_photo", "add_node", "publish_node"))


def may_change_photos(user: Any) -> bool:
    """Return whether `user` can change, publish, replace, move and trash photos."""
    return _is_staff(user) and any(user.has_perm(f"nodes.{name}") for name in ("change_photo", "publish_node"))


def may_describe(user: Any, photo: Photo | File) -> bool:
    """Return whether `user` can change the description of `photo`.

    Until the photo is published, the user who uploaded it can do so.
    """
    author = photo.metadata.author
    is_own = author is not None and author.id == user.pk and photo.metadata.published is None
    return may_change_photos(user) or (is_own and may_add_photos(user))


def _is_staff(user: Any) -> bool:
    return bool(user.is_active and user.is_staff)
