"""Token scopes, and the permissions that each scope allows."""

from collections.abc import Collection
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Scope(StrEnum):
    """A group of permissions that can be granted to a token. A token never has more permissions than its owner."""

    READ = "read"
    WRITE = "write"
    PUBLISH = "publish"
    MODERATE = "moderate"
    ADMINISTER = "administer"


LABELS: dict[Scope, str | Promise] = {
    Scope.READ: _("Read drafts, and everything else that you can see in the admin"),
    Scope.WRITE: _("Write: add pages, posts and photos, edit your own content, and create drafts"),
    Scope.PUBLISH: _("Publish: edit, publish and arrange all pages, posts and photos"),
    Scope.MODERATE: _("Moderate comments"),
    Scope.ADMINISTER: _("Administer: delete content permanently and change the settings"),
}

_WRITING = frozenset({"add_node", "change_node", "add_photo"})
_PUBLISHING = frozenset({"publish_node", "change_photo"})
_VIEWING = frozenset({"view_node", "view_photo"})
_ADMINISTERING = frozenset({"delete_node", "delete_photo", "change_sitesettings"})
OF_NODES = frozenset({Scope.READ, Scope.WRITE, Scope.PUBLISH})


def allows(scopes: Collection[str], permission: str, *, is_reading: bool) -> bool:
    """Return whether scopes allow a token to use one of its owner's permissions, such as "nodes.publish_node".

    If a permission isn't covered by any other scope, it requires ADMINISTER.

    Args:
        scopes: The scopes of the token.
        permission: The permission.
        is_reading: Whether the request is read-only. If it is, the `read` scope allows the token to view everything
            that the owner can view, so write permissions count as view permissions.
    """
    app, _dot, name = permission.partition(".")
    granted = frozenset(scopes)
    if app == "marginalia_comments":
        return Scope.MODERATE in granted
    if app != "nodes" or name in _ADMINISTERING:
        return Scope.ADMINISTER in granted
    if is_reading or name in _VIEWING:
        return bool(OF_NODES & granted)
    if name in _WRITING:
        return bool({Scope.WRITE, Scope.PUBLISH} & granted)
    return name in _PUBLISHING and Scope.PUBLISH in granted
