"""Descriptions of the shipped groups (cms/migrations/0001_groups.py), shown to administrators who assign roles."""

from django.utils.translation import gettext_lazy as _

ROLES = {
    "Authors": _("Write pages and posts of their own and add photos. An editor publishes what they write."),
    "Editors": _("Write, change, publish and arrange all pages, posts and photos."),
    "Moderators": _("Approve, reject and remove comments."),
    "Administrators": _("Do everything: also change the settings, give roles and delete permanently."),
}


def describe_group(group_name: str) -> str:
    """Return a sentence about the permissions of a group's members, or "" for a group that isn't shipped with the site."""
    return str(ROLES.get(group_name, ""))
