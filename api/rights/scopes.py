"""What a token is made for: its scopes, and which rights of its owner each of them leaves."""

from collections.abc import Collection
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Scope(StrEnum):
    """What the owner of a token lets it do, as far as the owner may."""

    READ = "read"
    WRITE = "write"
    PUBLISH = "publish"
    MODERATE = "moderate"
    ADMINISTER = "administer"


LABELS: dict[Scope, str | Promise] = {
    Scope.READ: _("Read drafts, and all else that you see in the admin"),
    Scope.WRITE: _("Write: add pages, posts and photos, change your own and make drafts"),
    Scope.PUBLISH: _("Publish: change and arrange all pages, posts and photos"),
    Scope.MODERATE: _("Moderate comments"),
    Scope.ADMINISTER: _("Administer: delete permanently and change the settings"),
}

_WRITING = frozenset({"add_node", "change_node", "add_photo"})
_PUBLISHING = frozenset({"publish_node", "change_photo"})
_SEEING = frozenset({"view_node", "view_photo"})
_ADMINISTERING = frozenset({"delete_node", "delete_photo", "change_sitesettings"})
OF_NODES = frozenset({Scope.READ, Scope.WRITE, Scope.PUBLISH})


def leaves(scopes: Collection[str], permission: str, *, is_reading: bool) -> bool:
    """Return whether these scopes leave their owner's permission, such as "nodes.publish_node".

    A request that only reads may look at whatever its owner sees: there the rights to write count as rights to see. What no
    scope names is for ADMINISTER.
    """
    app, _dot, name = permission.partition(".")
    held = frozenset(scopes)
    if app == "marginalia_comments":
        return Scope.MODERATE in held
    if app != "nodes" or name in _ADMINISTERING:
        return Scope.ADMINISTER in held
    if is_reading or name in _SEEING:
        return bool(OF_NODES & held)
    if name in _WRITING:
        return bool({Scope.WRITE, Scope.PUBLISH} & held)
    return name in _PUBLISHING and Scope.PUBLISH in held
