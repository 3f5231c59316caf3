"""The roles, which are groups (cms/migrations/0001_groups.py), and the users who can assign them.

Users can only manage accounts and assign roles that have no permissions beyond their own.
"""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Count, QuerySet
from django.utils.translation import gettext_lazy as _

ROLES = {
    "Authors": _("Write their own pages and posts, and add photos. An editor publishes their work."),
    "Editors": _("Write, edit, publish and arrange all pages, posts and photos."),
    "Moderators": _("Approve, reject and remove comments."),
    "Administrators": _(
        "Do everything, including changing the settings, assigning roles and deleting content permanently."
    ),
}
# The role that invitations propose, because most people write.
PROPOSED = "Authors"


def describe_group(group_name: str) -> str:
    """Return a description of what a group's members can do, or "" if the group isn't a built-in one."""
    return str(ROLES.get(group_name, ""))


@dataclass(frozen=True)
class Role:
    """A row of the list of roles."""

    group: Group
    description: str
    members: int


def list_roles() -> list[Role]:
    """Return all roles by name. The number of queries doesn't depend on the number of roles."""
    memberships = User.groups.through.objects.values_list("group_id").annotate(Count("pk")).order_by()
    members = dict(memberships)
    groups = Group.objects.order_by("name")
    return [Role(group, describe_group(group.name), members.get(group.pk, 0)) for group in groups]


def assignable(manager: User) -> QuerySet[Group]:
    """Return the groups that `manager` can assign to accounts."""
    groups = Group.objects.all()
    if manager.is_superuser:
        return groups
    return groups.filter(pk__in=[group.pk for group in groups if can_manage_role(manager, group)])


def can_manage_role(manager: User, group: Group) -> bool:
    """Return whether a group has no permissions beyond those of `manager`."""
    return manager.is_superuser or set(_named(group.permissions.all())) <= _held(manager)


def grantable(manager: User) -> QuerySet[Permission]:
    """Return the permissions that `manager` can give to a role."""
    permissions = Permission.objects.select_related("content_type")
    if manager.is_superuser:
        return permissions
    named, held = _named(permissions), _held(manager)
    return permissions.filter(pk__in=[pk for name, pk in named.items() if name in held])


def can_manage(manager: User, account: User) -> bool:
    """Return whether an account has no permissions beyond those of `manager`."""
    if manager.is_superuser:
        return True
    return not account.is_superuser and _held(account) <= _held(manager)


def _held(account: User) -> set[str]:
    """Return the permissions of an account's roles and its individual permissions, even if the account is inactive."""
    permissions: set[str] = User(pk=account.pk, is_active=True).get_all_permissions()
    return permissions


def _named(permissions: QuerySet[Permission]) -> dict[str, Any]:
    """Return the ids of permissions, keyed by name, such as "nodes.add_node"."""
    rows = permissions.values_list("content_type__app_label", "codename", "pk")
    return {f"{app_label}.{codename}": pk for app_label, codename, pk in rows}
