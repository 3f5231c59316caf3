"""The admin's start page: what waits for the user, told with where to go for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from comments.moderation import pending as moderation
from comments.posting.policy import is_moderator
from mongo import jobs
from mongo.clock import now
from nodes import access, content
from nodes.selectors import lists, waiting
from nodes.selectors.lists import ANY, Filters
from nodes.services import sweeping


@dataclass(frozen=True)
class Card:
    """Something that can wait: how many there are, where they are listed, and what it means or what to do when there are none.

    `mine`: how many of them are one's own, and where those are listed.
    """

    label: str
    count: str
    url: str
    text: str
    mine: str = ""
    mine_url: str = ""
    is_trouble: bool = False

    @property
    def waits(self) -> bool:
        return self.count != "0"


def context(user: Any) -> dict[str, Any]:
    """Return what the start page shows to a user."""
    moment, may_write = now(), _may_write(user)
    own = ANY if access.sees_all(user) else user.pk
    found = list(_cards(user, moment))
    return {
        "cards": found,
        "nothing_waits": found and not any(card.waits for card in found),
        "is_new": not waiting.anything(),
        "may_publish": user.has_perm("nodes.publish_node"),
        "may_set": access.may_set_up(user),
        "may_write": may_write,
        "may_add_photos": access.may_add_photos(user),
        "coming": waiting.soonest(Filters(state=lists.SCHEDULED, author=own), moment) if may_write else [],
        "changed": waiting.changed(own) if may_write else [],
        "quick": [type for type in content.types() if access.may_create(user, type.type_name) and not type.is_section],
    }


def _may_write(user: Any) -> bool:
    return bool(user.has_perm("nodes.change_node") or access.sees_all(user))


def _cards(user: Any, moment: datetime) -> Iterator[Card]:
    if is_moderator(user):
        yield from _comments()
    if _may_write(user):
        yield from _pages(user, moment)
    if access.may_change_photos(user) and (stalled := sweeping.stalled_count(moment)):
        text = _("Their connection broke. Upload the files again; what is left of them can go.")
        yield Card(_("Stalled uploads"), number(stalled), reverse("admin:nodes_photo_stalled"), text, is_trouble=True)
    if access.may_set_up(user) and (failed := jobs.failed_count(lists.COUNTED + 1)):
        text = _("Mail and other work in the background that was tried again and again in vain.")
        yield Card(_("Failed jobs"), number(failed), reverse("admin:jobs"), text, is_trouble=True)


def _comments() -> Iterator[Card]:
    counts = moderation.counts()
    url = reverse("admin:comments_moderation_changelist")
    text = _("They appear once a moderator approves them.") if counts["waiting"] else _("Every comment was decided.")
    yield Card(_("Comments that wait"), number(counts["waiting"], moderation.COUNTED - 1), url, text)
    text = _("Readers think that something is wrong with them.") if counts["flagged"] else _("No reader complains.")
    url = reverse("admin:comments_moderation_published")
    yield Card(_("Flagged comments"), number(counts["flagged"], moderation.COUNTED - 1), url, text)


def _pages(user: Any, moment: datetime) -> Iterator[Card]:
    told = {
        lists.UNPUBLISHED: (
            _("Not published"),
            _("Go on writing, or publish them."),
            _("Nothing lies half-written. A new page stays here until it is published."),
        ),
        lists.DRAFTED: (
            _("With a draft"),
            _("Readers see the public version until the draft is published."),
            _("To prepare a change of a public page, press “Save draft” in its form."),
        ),
        lists.SCHEDULED: (
            _("Scheduled"),
            _("They appear by themselves when their time comes."),
            _("Give a page a time ahead, and it appears by itself."),
        ),
        lists.EXPIRING: (
            _("Expire within a week"),
            _("Readers do not see them any more from then on."),
            _("No page ends soon."),
        ),
    }
    for state, (label, some, none) in told.items():
        if not access.sees_all(user):
            found = waiting.count(Filters(state=state, author=user.pk), moment)
            yield Card(label, number(found), _listed(state=state), some if found else none)
            continue
        found = waiting.count(Filters(state=state), moment)
        mine = waiting.count(Filters(state=state, author=user.pk), moment) if found else 0
        yield Card(
            label,
            number(found),
            _listed(state=state),
            some if found else none,
            mine=number(mine) if mine else "",
            mine_url=_listed(state=state, author=str(user.pk)),
        )


def _listed(**query: str) -> str:
    return reverse("admin:nodes_node_changelist", query=query)


def number(count: int, exact: int = lists.COUNTED) -> str:
    """Return a count as text; beyond `exact` it was not counted to its end."""
    return f"{count:,}" if count <= exact else f"{exact:,}+"
