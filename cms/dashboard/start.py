"""The admin's start page: what the user is there for, told with where to go for it."""

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
from nodes.selectors import lists, waiting, working_copies
from nodes.selectors.lists import ANY, Filters, Row
from nodes.services import sweeping

# Of the comments that wait longest.
PENDING = 3


@dataclass(frozen=True)
class Card:
    """Something that can wait: how many there are, where they are listed, and what it means or what to do when
    there are none."""

    label: str
    count: str
    url: str
    text: str
    is_trouble: bool = False

    @property
    def waits(self) -> bool:
        return self.count != "0"


def context(user: Any) -> dict[str, Any]:
    """Return what the start page shows to a user."""
    moment, may_write = now(), _may_write(user)
    own = ANY if access.sees_all(user) else user.pk
    types = [type for type in content.types() if access.may_create(user, type.type_name) and not type.is_section]
    found = list(_cards(user, moment))
    return {
        "sections": [f"admin/start/_{name}.html" for name in _sections(user)],
        "cards": found,
        "nothing_waits": found and not any(card.waits for card in found),
        "is_new": not waiting.anything(),
        "pending": moderation.open_to(str(user.pk), PENDING) if is_moderator(user) else (),
        "unsaved": working_copies.unsaved(user.pk) if may_write else [],
        "drafts": _drafts(user, moment) if may_write else [],
        "may_publish": user.has_perm("nodes.publish_node"),
        "may_set": access.may_set_up(user),
        "may_write": may_write,
        "may_add_photos": access.may_add_photos(user),
        "coming": waiting.coming(own, moment) if may_write else [],
        "changed": waiting.changed(own) if may_write else [],
        # Posts are written more often than pages.
        "quick": sorted(types, key=lambda type: not issubclass(type, content.Entry)),
    }


def _sections(user: Any) -> list[str]:
    """Return the parts of the page in the order of what the user is there for."""
    may_write, moderates = _may_write(user), is_moderator(user)
    writing, comments = ["unsaved", "drafts"] if may_write else [], ["pending"] if moderates else []
    attention = ["attention"] if may_write or moderates else []
    if access.may_set_up(user):
        first = [*attention, *comments, *writing]
    else:
        first = [*comments, *writing, *attention]
    return [*first, *(["recent"] if may_write else [])]


def _drafts(user: Any, moment: datetime) -> list[Row]:
    """Return what the user has written and not published, the last changed first."""
    rows: dict[Any, Row] = {}
    for state in (lists.UNPUBLISHED, lists.DRAFTED):
        page = lists.page(Filters(state=state, author=user.pk), moment, size=waiting.NAMED)
        rows |= {row.node.pk: row for row in page.rows}
    return sorted(rows.values(), key=lambda row: row.node.metadata.updated, reverse=True)[: waiting.NAMED]


def _may_write(user: Any) -> bool:
    return bool(user.has_perm("nodes.change_node") or access.sees_all(user))


def _cards(user: Any, moment: datetime) -> Iterator[Card]:
    if access.may_change_photos(user) and (stalled := sweeping.stalled_count(moment)):
        text = _("The connection broke. Upload the files again, and clear away what is left of them.")
        yield Card(_("Stalled uploads"), number(stalled), reverse("admin:nodes_photo_stalled"), text, is_trouble=True)
    if access.may_set_up(user) and (failed := jobs.failed_count(lists.COUNTED + 1)):
        text = _("The site tried to send mail or do other work, and gave up. See what went wrong.")
        yield Card(_("Failed jobs"), number(failed), reverse("admin:jobs"), text, is_trouble=True)
    if is_moderator(user):
        yield from _comments()
    if _may_write(user):
        yield from _pages(user, moment)


def _comments() -> Iterator[Card]:
    counts = moderation.counts()
    url = reverse("admin:comments_moderation_changelist")
    text = _("Approve them, and they appear.") if counts["waiting"] else _("No comments are pending.")
    yield Card(_("Pending comments"), number(counts["waiting"], moderation.COUNTED - 1), url, text)
    text = _("Readers reported them.") if counts["flagged"] else _("Readers reported none.")
    url = reverse("admin:comments_moderation_published")
    yield Card(_("Flagged comments"), number(counts["flagged"], moderation.COUNTED - 1), url, text)


def _pages(user: Any, moment: datetime) -> Iterator[Card]:
    told = {
        lists.UNPUBLISHED: (
            _("Not published"),
            _("Only editors and their authors see them."),
            _("New pages stay here until you publish them."),
        ),
        lists.DRAFTED: (
            _("Changes not published"),
            _("Readers see the live version until you publish the changes."),
            _("To change a live page bit by bit, press “Save draft” in its form."),
        ),
        lists.SCHEDULED: (
            _("Scheduled"),
            _("They appear at their time."),
            _("Give a page a time to come, and it appears by itself."),
        ),
        lists.EXPIRING: (
            _("Expiring this week"),
            _("Readers no longer see them from then on."),
            _("No page expires soon."),
        ),
    }
    author = ANY if access.sees_all(user) else user.pk
    for state, (label, some, none) in told.items():
        found = waiting.count(Filters(state=state, author=author), moment)
        yield Card(label, number(found), _listed(state=state), some if found else none)


def _listed(**query: str) -> str:
    return reverse("admin:nodes_node_changelist", query=query)


def number(count: int, exact: int = lists.COUNTED) -> str:
    """Return a count as text; beyond `exact` it was not counted to its end."""
    return f"{count:,}" if count <= exact else f"{exact:,}+"
