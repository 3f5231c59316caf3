"""The groups that the site comes with (cms/migrations/0001_groups.py), and what each may do, for those who give roles."""

from django.utils.translation import gettext_lazy as _

ROLES = {
    "Authors": _("Write pages and posts of their own and add photos. An editor publishes what they write."),
    "Editors": _("Write, change, publish and arrange all pages, posts and photos."),
    "Moderators": _("Approve, reject and remove comments."),
    "Administrators": _("Do everything: also change the settings, give roles and delete permanently."),
}


def explained(group_name: str) -> str:
    """Return what the members of a group may do, in a sentence; "" for a group that the site did not come with."""
    return str(ROLES.get(group_name, ""))
