"""Who may do what with which node: asked by every page of the admin, previews and links included.

Authors write: their own nodes until published, and drafts beside them afterwards. Editors (who may publish) do everything but
delete permanently, which administrators may. To all others a node does not exist: 404, so that ids cannot be guessed.
Photos have no owner: writers see the library and add to it; with the right to publish, or to change photos,
one changes what is in it.
"""

import enum
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _

from marginalia.mongo.clock import now
from nodes import content
from nodes.content import PHOTO
from nodes.models import Node, Photo, tree
from nodes.selectors import editable_nodes, trash
from nodes.selectors.editable_nodes import Editable
from nodes.selectors.listing import live

# How choices spell the top level.
TOP = "top"
# The rights with which photos that are not public are seen.
_PHOTOS_SEEN_WITH = ("view_photo", "add_photo", "change_photo", "add_node", "publish_node")


class Action(enum.StrEnum):
    """What can be done with a node."""

    VIEW = "view"  # and preview, history, differences; copying it
    EDIT = "edit"
    DRAFT = "draft"
    PUBLISH = "publish"
    MOVE = "move"
    TRASH = "trash"
    DELETE = "delete"


# What needs to know the fields of a node: nothing of this is done with one whose type is not installed.
_CHANGING = frozenset({Action.EDIT, Action.DRAFT, Action.PUBLISH, Action.MOVE})


def allowed(user: Any, node: Node, action: Action) -> bool:
    """Return whether a user may do something with a node, or with a photo as it stands in the trash."""
    if not _is_staff(user):
        return False
    if not node.content_type.is_installed and action in _CHANGING:
        return False
    if action is Action.DELETE:
        return bool(user.has_perm("nodes.delete_node"))
    if node.content_type.is_file:
        return may_see_photos(user) if action is Action.VIEW else may_change_photos(user)
    if user.has_perm("nodes.publish_node"):
        return True
    if action is Action.VIEW and sees_all(user):
        return True
    author = node.metadata.author
    if action is Action.PUBLISH or author is None or author.id != user.pk or not user.has_perm("nodes.change_node"):
        return False
    return action in (Action.VIEW, Action.DRAFT) or node.metadata.published is None


def node(user: Any, node_id: ObjectId, action: Action) -> Editable:
    """Return a node for a user to do something with.

    Raises Http404 if there is none that the user may see, PermissionDenied if the user may see it, but not do this.
    """
    return _checked(user, editable_nodes.load(node_id), action)


def trashed(user: Any, node_id: ObjectId, action: Action) -> Editable:
    """Return a node from the trash, as `node` does."""
    return _checked(user, trash.load(node_id), action)


def trash_seen_by(user: Any) -> dict[str, Any] | None:
    """Return the filter of what a user may see in the trash, as `allowed` decides it; None if the trash is not his to open."""
    seen: list[dict[str, Any]] = []
    if may_list(user):
        own = {} if sees_all(user) else {"metadata.author._id": user.pk}
        seen.append({"metadata.type": {"$ne": PHOTO}, **own})
    if may_see_photos(user):
        seen.append({"metadata.type": PHOTO})
    return {"$or": seen} if seen else None


def _checked(user: Any, found: Editable | None, action: Action) -> Editable:
    if found is None or not allowed(user, found.node, Action.VIEW):
        raise Http404(_("There is no such page, or you may not see it."))
    if not allowed(user, found.node, action):
        raise PermissionDenied
    return found


def changes_unpublished_only(user: Any) -> bool:
    """Return whether a user may change only what is not published: for services to hold while they write, too."""
    return not user.has_perm("nodes.publish_node")


def sees_all(user: Any) -> bool:
    """Return whether a user may see every node; who may not sees his own."""
    return bool(user.has_perm("nodes.publish_node") or user.has_perm("nodes.view_node"))


def seen_by(user: Any) -> dict[str, Any]:
    """Return the filter of the nodes that a user may know of: who does not see all, what is public and his own."""
    return {} if sees_all(user) else {"$or": [live(now()), {"metadata.author._id": user.pk}]}


def may_list(user: Any) -> bool:
    """Return whether a user may open lists of nodes, which show those that he may see."""
    return sees_all(user) or bool(user.has_perm("nodes.change_node"))


def may_write(user: Any) -> bool:
    """Return whether a user writes texts, and may ask for what helps with that."""
    return bool(user.has_perm("nodes.add_node") or user.has_perm("nodes.change_node") or sees_all(user))


def may_create(user: Any, type: str) -> bool:
    """Return whether a user may make nodes of a type. Sections and photos are for those who may publish."""
    what = content.get(type)
    if what.is_file or not what.is_installed:
        return False
    return bool(user.has_perm("nodes.publish_node" if what.is_section else "nodes.add_node"))


def check_may_type(user: Any, type: str, node_id: ObjectId | None) -> None:
    """Raise PermissionDenied unless a user may fill in the form over a node of a type; None: over a new one.

    A form over what is gone in the meantime, or not the user's to see any more, is as one over a new node: what was typed
    stays, and tells nothing of what is there.
    """
    if content.get(type).is_file:
        may = may_change_photos(user)
    else:
        found = editable_nodes.load(node_id) if node_id else None
        seen = found.node if found and allowed(user, found.node, Action.VIEW) else None
        may = may_create(user, type) if seen is None else allowed(user, seen, Action.DRAFT)
    if not may:
        raise PermissionDenied


def may_place(user: Any, section_id: ObjectId | None) -> bool:
    """Return whether a user may put something into a section: the other end of creating, moving and copying.

    Who may not publish sees, and so chooses, only sections that everybody sees.
    """
    return bool(user.has_perm("nodes.publish_node")) or tree.current().is_live(section_id, now())


def may_set_up(user: Any) -> bool:
    """Return whether a user may change the site's settings, and sees what its operators need to know."""
    return bool(user.has_perm("nodes.change_sitesettings"))


def section_choices(user: Any, type: str = "", seen: ObjectId | None = None) -> list[tuple[str, str]]:
    """Return the sections that a user may put nodes of a type into as choices, each below its parent if that is one.

    Without a type: all that the user may put anything into. `seen`, where the node stands, is always among them.
    """
    sections = tree.current()
    found = []
    if (not type or content.may_hold(None, type)) and (may_place(user, None) or seen is None):
        found.append((TOP, _("Top level")))

    def walk(parent_id: ObjectId | None, depth: int) -> None:
        for section in sections.children.get(parent_id, ()):
            fits = not type or content.may_hold(section.type, type)
            is_choice = fits and (section.id == seen or may_place(user, section.id))
            if is_choice:
                found.append((str(section.id), "\u2003" * depth + section.title))
            walk(section.id, depth + is_choice)

    walk(None, 0)
    return found


def may_see_photos(user: Any) -> bool:
    """Return whether a user may see photos that are not public."""
    return _is_staff(user) and any(user.has_perm(f"nodes.{name}") for name in _PHOTOS_SEEN_WITH)


def may_add_photos(user: Any) -> bool:
    """Return whether a user may upload new photos."""
    return _is_staff(user) and any(user.has_perm(f"nodes.{name}") for name in ("add_photo", "add_node", "publish_node"))


def may_change_photos(user: Any) -> bool:
    """Return whether a user may change, publish, replace, move and throw away photos."""
    return _is_staff(user) and any(user.has_perm(f"nodes.{name}") for name in ("change_photo", "publish_node"))


def may_describe(user: Any, photo: Photo) -> bool:
    """Return whether a user may say what a photo shows: also who has uploaded it, while it is not published."""
    author = photo.metadata.author
    is_own = author is not None and author.id == user.pk and photo.metadata.published is None
    return may_change_photos(user) or (is_own and may_add_photos(user))


def _is_staff(user: Any) -> bool:
    return bool(user.is_active and user.is_staff)
