"""The Dashboard, which is the first page of the admin. It lists the user's tasks, with links."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from editor import extensions, working_copies
from marginalia.comments.moderation import pending
from marginalia.comments.moderators import is_moderator
from marginalia.markup.characters import is_blank
from marginalia.mongo.clock import now
from marginalia.tasks import queue
from nodes import access, content
from nodes.selectors import lists, waiting
from nodes.selectors.lists import ANY, Filters, Row
from nodes.types import Actor
from photos.services import sweeping

# Maximum number of pending comments on the Dashboard. The oldest comments are shown.
PENDING_COMMENTS = 3


@dataclass(frozen=True)
class Card:
    """A link to a list of items that need the user's attention, with the number of items and an explanation."""

    label: str
    count: str
    url: str
    text: str
    is_trouble: bool = False


def context(user: Any) -> dict[str, Any]:
    """Return the Dashboard's template context for a user."""
    moment = now()
    may_write = _may_write(user)
    own = ANY if access.sees_all(user) else user.pk
    types = [type for type in content.types_to_write() if not type.is_section]
    return {
        "sections": [f"admin/dashboard/_{name}.html" for name in _sections(user)],
        "cards": list(_cards(user, moment)),
        "tiles": extensions.render_tiles(user),
        "is_new": not waiting.has_nodes(),
        "pending": pending.available_to(str(user.pk), PENDING_COMMENTS) if is_moderator(user) else (),
        "unsaved": working_copies.list_unsaved(user) if may_write else [],
        "drafts": _drafts(user, moment) if may_write else [],
        "may_publish": user.has_perm("nodes.publish_node"),
        "may_set": access.may_set_up(user),
        "may_write": may_write,
        # The name with which the next post is signed, if the user hasn't set a name.
        "unnamed": Actor.of(user).name if may_write and is_blank(user.get_full_name()) else "",
        "may_add_photos": access.may_add_photos(user),
        "coming": waiting.coming(own, moment) if may_write else [],
        "changed": waiting.changed(own) if may_write else [],
        "quick": [type for type in types if access.may_add(user, type.type_name)],
    }


def _sections(user: Any) -> list[str]:
    """Return the names of the Dashboard's sections. The user's main tasks come first."""
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
    """Return the user's unpublished pages and changes, most recently changed first."""
    rows: dict[Any, Row] = {}
    for state in (lists.UNPUBLISHED, lists.DRAFTED):
        page = lists.page(Filters(state=state, author=user.pk), moment, size=waiting.NAMED)
        rows |= {row.node.pk: row for row in page.rows}
    return sorted(rows.values(), key=lambda row: row.changed, reverse=True)[: waiting.NAMED]


def _may_write(user: Any) -> bool:
    return bool(user.has_perm("nodes.change_node") or access.sees_all(user))


def _cards(user: Any, moment: datetime) -> Iterator[Card]:
    if access.may_change_photos(user) and (stalled := sweeping.count_stalled(moment)):
        text = _("The connection was lost. Delete these uploads, then upload the files again.")
        yield Card(
            _("Stalled uploads"), format_count(stalled), reverse("admin:nodes_photo_stalled"), text, is_trouble=True
        )
    if access.may_set_up(user) and (failed := queue.failed_count(lists.COUNTED + 1)):
        text = _("Some background jobs, such as sending emails, failed permanently. Open the list to see why.")
        yield Card(_("Failed jobs"), format_count(failed), reverse("admin:jobs"), text, is_trouble=True)
    if is_moderator(user):
        yield from _comments()
    if _may_write(user):
        yield from _pages(user, moment)


def _comments() -> Iterator[Card]:
    counts = pending.counts()
    if waiting_count := counts["waiting"]:
        url = reverse("admin:marginalia_comments_moderation_changelist")
        text = _("Readers will see these comments after you approve them.")
        yield Card(_("Pending comments"), format_count(waiting_count, pending.MAX_COUNTED - 1), url, text)
    if flagged := counts["flagged"]:
        url = reverse("admin:marginalia_comments_moderation_reported")
        text = _("Readers reported these comments.")
        yield Card(_("Reported comments"), format_count(flagged, pending.MAX_COUNTED - 1), url, text)


def _pages(user: Any, moment: datetime) -> Iterator[Card]:
    cards = {
        lists.UNPUBLISHED: (_("Drafts"), _("Only editors and the author can see a draft.")),
        lists.DRAFTED: (
            _("Unpublished changes"),
            _("Readers see the live version until you publish the changes."),
        ),
        lists.SCHEDULED: (_("Scheduled"), _("These pages appear at the scheduled time.")),
        lists.EXPIRING: (_("Expiring this week"), _("Readers will no longer see these pages after they expire.")),
    }
    author = ANY if access.sees_all(user) else user.pk
    for state, (label, text) in cards.items():
        if count := waiting.count(Filters(state=state, author=author), moment):
            yield Card(label, format_count(count), _list_url(state=state), text)


def _list_url(**query: str) -> str:
    return reverse("admin:nodes_node_changelist", query=query)


def format_count(count: int, limit: int = lists.COUNTED) -> str:
    """Return a count as text. If the count exceeds the limit, return text such as "1,000+"."""
    return f"{count:,}" if count <= limit else f"{limit:,}+"
