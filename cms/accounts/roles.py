"""Descriptions of the built-in groups (cms/migrations/0001_groups.py), shown to administrators who assign roles."""

from django.utils.translation import gettext_lazy as _

ROLES = {
    "Authors": _("Write their own pages and posts, and add photos. An editor publishes their work."),
    "Editors": _("Write, edit, publish and arrange all pages, posts and photos."),
    "Moderators": _("Approve, reject and remove comments."),
    "Administrators": _(
        "Do everything, including changing the settings, assigning roles and deleting content permanently."
    ),
}


def describe_group(group_name: str) -> str:
    """Return a description of what a group's members can do, or "" if the group isn't a built-in one."""
    return str(ROLES.get(group_name, ""))
