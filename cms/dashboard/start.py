"""The admin's start page: what the user is there for, told with where to go for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from editor import working_copies
from marginalia.comments.moderation import pending
from marginalia.comments.posting.policy import is_moderator
from marginalia.mongo import jobs
from marginalia.mongo.clock import now
from nodes import access, content
from nodes.selectors import lists, waiting
from nodes.selectors.lists import ANY, Filters, Row
from photos.services import sweeping

# Of the comments that wait longest.
PENDING = 3


@dataclass(frozen=True)
class Card:
    """Something that waits: how many there are, where they are listed, and what it means."""

    label: str
    count: str
    url: str
    text: str
    is_trouble: bool = False


def context(user: Any) -> dict[str, Any]:
    """Return what the start page shows to a user."""
    moment = now()
    may_write = _may_write(user)
    own = ANY if access.sees_all(user) else user.pk
    types = [type for type in content.types() if access.may_create(user, type.type_name) and not type.is_section]
    return {
        "sections": [f"admin/start/_{name}.html" for name in _sections(user)],
        "cards": list(_cards(user, moment)),
        "is_new": not waiting.anything(),
        "pending": pending.open_to(str(user.pk), PENDING) if is_moderator(user) else (),
        "unsaved": working_copies.unsaved(user) if may_write else [],
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
    may_write = _may_write(user)
    moderates = is_moderator(user)
    writing = ["unsaved", "drafts"] if may_write else []
    comments = ["pending"] if moderates else []
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
    return sorted(rows.values(), key=lambda row: row.changed, reverse=True)[: waiting.NAMED]


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
    counts = pending.counts()
    if waits := counts["waiting"]:
        url = reverse("admin:marginalia_comments_moderation_changelist")
        text = _("Approve them, and they appear.")
        yield Card(_("Pending comments"), number(waits, pending.COUNTED - 1), url, text)
    if flagged := counts["flagged"]:
        url = reverse("admin:marginalia_comments_moderation_published")
        yield Card(_("Flagged comments"), number(flagged, pending.COUNTED - 1), url, _("Readers reported them."))


def _pages(user: Any, moment: datetime) -> Iterator[Card]:
    told = {
        lists.UNPUBLISHED: (_("Drafts"), _("Only editors and their authors see them.")),
        lists.DRAFTED: (
            _("Changes not published"),
            _("Readers see the live version until you publish the changes."),
        ),
        lists.SCHEDULED: (_("Scheduled"), _("They appear at their time.")),
        lists.EXPIRING: (_("Expiring this week"), _("Readers no longer see them from then on.")),
    }
    author = ANY if access.sees_all(user) else user.pk
    for state, (label, text) in told.items():
        if found := waiting.count(Filters(state=state, author=author), moment):
            yield Card(label, number(found), _listed(state=state), text)


def _listed(**query: str) -> str:
    return reverse("admin:nodes_node_changelist", query=query)


def number(count: int, exact: int = lists.COUNTED) -> str:
    """Return a count as text; beyond `exact` it was not counted to its end."""
    return f"{count:,}" if count <= exact else f"{exact:,}+"
