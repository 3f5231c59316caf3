"""Who may do what with which node: asked by every page of the admin, previews and links included.

Authors write: their own nodes until published, and drafts beside them afterwards. Editors (who may publish) do everything but
delete for good, which administrators may. To anybody else a node does not exist: 404, so that ids cannot be guessed.
"""

import enum
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _

from mongo.connection import now
from nodes import kinds
from nodes.models import Node, tree
from nodes.selectors import editing, trash
from nodes.selectors.editing import Editable
from nodes.selectors.listing import live


class Action(enum.StrEnum):
    """What can be done with a node."""

    VIEW = "view"  # and preview, history, differences; copying it
    EDIT = "edit"
    DRAFT = "draft"
    PUBLISH = "publish"
    MOVE = "move"
    TRASH = "trash"
    DELETE = "delete"


def allowed(user: Any, node: Node, action: Action) -> bool:
    """Return whether a user may do something with a node."""
    if not (user.is_active and user.is_staff):
        return False
    if action is Action.DELETE:
        return bool(user.has_perm("nodes.delete_node"))
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
    return _checked(user, editing.load(node_id), action)


def trashed(user: Any, node_id: ObjectId, action: Action) -> Editable:
    """Return a node from the trash, as `node` does."""
    return _checked(user, trash.load(node_id), action)


def _checked(user: Any, found: Editable | None, action: Action) -> Editable:
    if found is None or not allowed(user, found.node, Action.VIEW):
        raise Http404(_("There is no such page, or it is not yours to see."))
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


def may_create(user: Any, type: str) -> bool:
    """Return whether a user may make nodes of a type. Sections and photos are for those who may publish."""
    if type in (kinds.PAGE, kinds.ENTRY):
        return bool(user.has_perm("nodes.add_node"))
    return type in kinds.SECTIONS and bool(user.has_perm("nodes.publish_node"))


def may_place(user: Any, section_id: ObjectId | None) -> bool:
    """Return whether a user may put something into a section: the other end of creating, moving and copying.

    Who may not publish sees, and so chooses, only sections that everybody sees.
    """
    return bool(user.has_perm("nodes.publish_node")) or tree.current().is_live(section_id, now())


def may_set_up(user: Any) -> bool:
    """Return whether a user may change the site's settings, and sees what its operators need to know."""
    return bool(user.has_perm("nodes.change_sitesettings"))
