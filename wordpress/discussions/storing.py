"""Stores the comments of imported posts: the approved ones with threads and times, the rest in the moderation queue."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from marginalia.comments.errors import InvalidComment
from marginalia.comments.operations import importing
from marginalia.comments.posting import preparation
from marginalia.comments.reading import selectors
from marginalia.comments.types import Author, Kind, NewComment, Target, Verdict
from wordpress.discussions.threads import Ready, ready, waiting
from wordpress.export.records import Item
from wordpress.export.scan import Entry
from wordpress.report import Report

__all__ = ["Discussions"]

# The queue forgets what was decided after 30 days: what a moderator refused must not come again.
QUEUE_REMEMBERS = timedelta(days=29)
KINDS = {"pingback": Kind.PINGBACK, "trackback": Kind.TRACKBACK}
# Queued comments of one post that are looked at to see which are there.
MOST_QUEUED = 10_000


class Discussions:
    """Stores comments once: what is there, also as a tombstone or in the queue, is not stored again."""

    def __init__(self, site_key: str, report: Report, moment: datetime, *, pretend: bool) -> None:
        self.site_key = site_key
        self.report = report
        self.moment = moment
        self.pretend = pretend

    def write(self, target: Target, entry: Entry, item: Item) -> None:
        """Store the comments of `item`, which is discussed as `target`."""
        if not item.comments:
            return
        present = self._present(target) if entry.known else set()
        stored: dict[int, str] = {}
        new = list(self._new(item, present, stored))
        self.report.written["comment"] += len(new) if self.pretend else importing.import_(target, new)
        held = list(waiting(item.comments, item.posted or self.moment))
        if held and (not entry.known or self._may_wait(entry)):
            self._hold(target, item, held, present | (self._queued(target) if entry.known else set()), stored)

    def _new(self, item: Item, present: set[str], stored: dict[int, str]) -> Iterator[NewComment]:
        """Yield what is not stored yet; `stored` gets the slug of each comment that is, or will be, by its old id."""
        for one in ready(item.comments, item.posted or self.moment):
            comment = self._comment(one, item, stored)
            if comment is None:
                # Replies to what cannot be stored answer what that answered.
                stored[one.comment.id] = stored.get(one.parent, "")
                continue
            slug = stored[one.comment.id] = importing.slug_of(comment)
            if slug not in present:
                yield comment

    def _comment(self, one: Ready, item: Item, stored: dict[int, str]) -> NewComment | None:
        name = preparation.one_line(one.author) or _("Anonymous")
        comment = NewComment(
            author=Author(name=name, url=one.url),
            source=one.source,
            html=preparation.render(one.source),
            token=f"wordpress:{self.site_key}:{item.id}:{one.comment.id}",
            parent=stored.get(one.parent, ""),
            email=one.email,
            kind=KINDS.get(one.comment.kind, Kind.COMMENT),
            posted=one.posted,
        )
        try:
            return preparation.checked(comment)
        except InvalidComment as error:
            self.report.note("Comments left out", f"comment {one.comment.id} on {item.type} {item.id}: {error}")
            return None

    def _hold(self, target: Target, item: Item, held: list[Ready], present: set[str], stored: dict[int, str]) -> None:
        for one in held:
            comment = self._comment(one, item, stored)
            if comment is None or importing.slug_of(comment) in present:
                continue
            if not self.pretend:
                importing.hold_imported(target, comment, reasons=(_("It waited on the old site."),))
            self.report.written["queued comment"] += 1

    def _may_wait(self, entry: Entry) -> bool:
        imported = entry.known.imported if entry.known else None
        return imported is None or self.moment - imported < QUEUE_REMEMBERS

    @staticmethod
    def _present(target: Target) -> set[str]:
        """The slugs of all comments that are stored and counted, tombstones included.

        Where the count is off, a run was stopped between storing one and counting it: storing them again counts it.
        """
        found = set()
        public = 0
        for comment in selectors.iterate(target):
            found.add(comment.slug)
            public += not comment.removed
        return found if public == selectors.count(target) else set()

    @staticmethod
    def _queued(target: Target) -> set[str]:
        """The slugs of all comments that wait in the queue, or did and are remembered there."""
        found = (selectors.held(target=target, verdict=verdict, limit=MOST_QUEUED) for verdict in Verdict)
        return {held.slug for some in found for held in some}
