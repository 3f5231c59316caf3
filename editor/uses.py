"""The uses of nodes and photos: the pages that refer to them. Pages that the user can't see are only counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from django import forms

from editor.site import admin_url
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import NodePermission
from nodes.models import Node, Photo, stored_site, tree
from nodes.selectors import references
from nodes.selectors.listing import is_public
from nodes.types import NEVER

# The name of the form field that confirms the action on a confirmation page.
CONFIRMED = "confirmed"


@dataclass(frozen=True)
class NamedUse:
    """A page that uses a node or photo.

    Attributes:
        drafted: Whether only the page's draft uses the node or photo.
    """

    title: str
    url: str
    drafted: bool


@dataclass(frozen=True)
class Uses:
    """The pages that use certain nodes and photos.

    Attributes:
        named: The listed pages.
        count: The total number of pages.
        is_shared: Whether one of the photos is the site's logo or link preview photo.
    """

    named: tuple[NamedUse, ...]
    count: int
    is_shared: bool = False

    @property
    def is_used(self) -> bool:
        return self.count > 0 or self.is_shared

    @property
    def unnamed_count(self) -> int:
        """Return the number of uses that are not listed."""
        return self.count - len(self.named)

    @property
    def has_more(self) -> bool:
        """Return whether there are more uses than the maximum number that the site counts."""
        return self.count > references.COUNTED_USES

    @property
    def shown_count(self) -> int:
        """Return the number of uses, up to the maximum that the site counts."""
        return min(self.count, references.COUNTED_USES)


def find(user: Any, ids: Sequence[ObjectId], most: int = references.LISTED_USES) -> Uses:
    """Return the uses of these nodes and photos. List up to `most` pages, most recently changed first."""
    page_uses = references.find_uses(ids)
    count = len(page_uses) if len(page_uses) < references.LISTED_USES else references.count_uses(ids)
    named = [named_use for use in page_uses if (named_use := _named(user, use))]
    settings = stored_site.current().settings
    return Uses(
        tuple(named[:most]), count, not {settings.share_picture, settings.logo, settings.logo_dark}.isdisjoint(ids)
    )


def find_with_contents(user: Any, ids: Sequence[ObjectId], most: int = references.LISTED_USES) -> Uses:
    """Return the uses of these nodes and photos, and of everything in them.

    This function is for actions that hide nodes together with their contents.
    """
    return find(user, references.with_contents(tree.current(), ids), most)


def find_if_unpublished(user: Any, node: Node | Photo, form: forms.Form, sent: Mapping[str, Any]) -> Uses | None:
    """Return the uses of a public node if saving a valid form would hide the node from readers.

    Otherwise, return None. Also return None if there are no uses, or if the editor has already confirmed the action.
    """
    moment = now()
    if CONFIRMED in sent or not is_public(node, tree.current(), moment) or "published" not in form.cleaned_data:
        return None
    published = form.cleaned_data["published"]
    expires = form.cleaned_data.get("expires") or NEVER
    if published and published <= moment < expires or "_publish" in sent:
        return None
    uses = find_with_contents(user, [node.pk])
    return uses if uses.is_used else None


def _named(user: Any, use: references.Use) -> NamedUse | None:
    """Return the use with the title and URL of the page, or None if the user can't see the page."""
    node = use.node
    drafted = not use.live
    if access.allowed(user, node, NodePermission.VIEW):
        return NamedUse(str(node), admin_url("change", node.pk), drafted)
    if not drafted and is_public(node, tree.current(), now()):
        return NamedUse(str(node), node.get_absolute_url(), drafted)
    return None
