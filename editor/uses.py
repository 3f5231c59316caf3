"""Where nodes and photos are used, as one user may know of it: named with an address for him, or only counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from django import forms

from editor.site import admin_url
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import Action
from nodes.models import Node, Photo, stored_site, tree
from nodes.selectors import references
from nodes.selectors.listing import is_public
from nodes.types import NEVER

# Sent by the page that asks whether it is meant.
CONFIRMED = "confirmed"


@dataclass(frozen=True)
class Named:
    """A page that uses something. `drafted`: only in its draft."""

    title: str
    url: str
    drafted: bool


@dataclass(frozen=True)
class Uses:
    """The pages that use something: those that are named, and how many there are in all. `is_shared`: it is the site's logo or
    share picture, too."""

    named: tuple[Named, ...]
    count: int
    is_shared: bool = False

    @property
    def is_used(self) -> bool:
        return self.count > 0 or self.is_shared

    @property
    def others(self) -> int:
        """How many there are beside those that are named."""
        return self.count - len(self.named)

    @property
    def is_more(self) -> bool:
        """Whether there are more than are counted."""
        return self.count > references.COUNTED_USES

    @property
    def counted(self) -> int:
        return min(self.count, references.COUNTED_USES)


def of(user: Any, ids: Sequence[ObjectId], most: int = references.LISTED_USES) -> Uses:
    """Return where any of these nodes and photos is used, the last changed first; at most `most` are named."""
    found = references.find_uses(ids)
    count = len(found) if len(found) < references.LISTED_USES else references.count_uses(ids)
    named = [one for use in found if (one := _named(user, use))]
    settings = stored_site.current().settings
    return Uses(
        tuple(named[:most]), count, not {settings.share_picture, settings.logo, settings.logo_dark}.isdisjoint(ids)
    )


def of_leaving(user: Any, ids: Sequence[ObjectId], most: int = references.LISTED_USES) -> Uses:
    """Return where nodes and photos that readers are to see no more are used, and what stands in them."""
    return of(user, references.with_contents(tree.current(), ids), most)


def of_taken_back(user: Any, node: Node | Photo, form: forms.Form, sent: Mapping[str, Any]) -> Uses | None:
    """Return where a public node is used that a (valid) form takes back from the public; None if it does not, if it is used
    nowhere, or if its editor was told already."""
    moment = now()
    if CONFIRMED in sent or not is_public(node, tree.current(), moment) or "published" not in form.cleaned_data:
        return None
    published = form.cleaned_data["published"]
    expires = form.cleaned_data.get("expires") or NEVER
    if published and published <= moment < expires or "_publish" in sent:
        return None
    uses = of_leaving(user, [node.pk])
    return uses if uses.is_used else None


def _named(user: Any, use: references.Use) -> Named | None:
    """Return how a user is told of a use; None if it is not his to know."""
    node = use.node
    drafted = not use.live
    if access.allowed(user, node, Action.VIEW):
        return Named(str(node), admin_url("change", node.pk), drafted)
    if not drafted and is_public(node, tree.current(), now()):
        return Named(str(node), node.get_absolute_url(), drafted)
    return None
