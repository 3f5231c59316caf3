"""The types of nodes and what each may stand in: sections hold others, entries are read."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Kind:
    """One value of `metadata.type`. `holds` names the types that may stand in it; only sections hold any."""

    name: str
    label: str | Promise
    holds: frozenset[str] = frozenset()
    description: str | Promise = ""

    @property
    def is_section(self) -> bool:
        return bool(self.holds)


FOLDER, BLOG, GALLERY, PAGE, ENTRY, PHOTO = "folder", "blog", "gallery", "basic-page", "blog-entry", "photo"

# The type of files that are a photo's present, former or coming content: documents of GridFS, but no nodes.
CONTENT = "photo-content"

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            FOLDER,
            _("Folder"),
            frozenset({FOLDER, BLOG, GALLERY, PAGE}),
            _("Holds pages and other sections."),
        ),
        Kind(BLOG, _("Blog"), frozenset({ENTRY}), _("Holds posts, the newest first.")),
        Kind(GALLERY, _("Gallery"), frozenset({PHOTO}), _("Holds photos.")),
        Kind(PAGE, _("Page"), description=_("Stands by itself, in a folder or at the top level.")),
        Kind(ENTRY, _("Blog post"), description=_("Part of a blog, with a date.")),
        Kind(PHOTO, _("Photo")),
    )
}
SECTIONS = tuple(kind.name for kind in KINDS.values() if kind.is_section)
# The top level is like a folder.
TOP_LEVEL = KINDS[FOLDER]


def may_hold(parent_type: str | None, child_type: str) -> bool:
    """Return whether a node of `child_type` may stand in one of `parent_type`; None is the top level."""
    return child_type in (KINDS[parent_type] if parent_type else TOP_LEVEL).holds
