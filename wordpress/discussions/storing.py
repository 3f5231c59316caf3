"""Store imported comments: approved comments in discussions, and pending comments in the moderation queue."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from marginalia.comments.errors import InvalidComment
from marginalia.comments.operations import importing
from marginalia.comments.posting import preparation
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Kind, NewComment, Target, Verdict
from wordpress.discussions.threads import PreparedComment, approved_comments, pending_comments
from wordpress.export.records import Item
from wordpress.export.scan import Entry
from wordpress.report import Report

__all__ = ["Discussions"]

# If a post was imported longer ago than this, later runs don't add its pending comments to the queue again. The queue
# deletes a comment 30 days after it was approved or rejected, so a later run can no longer tell whether a comment was
# rejected.
QUEUE_MEMORY = timedelta(days=29)
KINDS = {"pingback": Kind.PINGBACK, "trackback": Kind.TRACKBACK}
# Maximum number of queued comments with each verdict that are compared with a post's comments.
MAX_QUEUED = 10_000


class Discussions:
    """A writer that stores comments, each of them only once.

    A comment that this site already has is not stored again, even if it was removed or is in the queue.
    """

    def __init__(self, site_key: str, report: Report, moment: datetime, *, dry_run: bool) -> None:
        self.site_key = site_key
        self.report = report
        self.moment = moment
        self.dry_run = dry_run

    def write(self, target: Target, entry: Entry, item: Item) -> None:
        """Store the comments of `item` in the discussion of `target`."""
        if not item.comments:
            return
        present = self._present(target) if entry.known else set()
        stored: dict[int, str] = {}
        new = list(self._new(item, present, stored))
        self.report.written["comment"] += len(new) if self.dry_run else importing.import_(target, new)
        held = list(pending_comments(item.comments, item.posted or self.moment))
        if held and (not entry.known or self._can_queue(entry)):
            self._hold(target, item, held, present | (self._queued(target) if entry.known else set()), stored)

    def _new(self, item: Item, present: set[str], stored: dict[int, str]) -> Iterator[NewComment]:
        """Yield the approved comments that are not stored yet.

        Add the slug of each approved comment to `stored`, keyed by the comment's id on the old site.
        """
        for prepared in approved_comments(item.comments, item.posted or self.moment):
            comment = self._comment(prepared, item, stored)
            if comment is None:
                # The comment can't be stored, so attach its replies to its parent.
                stored[prepared.comment.id] = stored.get(prepared.parent, "")
                continue
            slug = stored[prepared.comment.id] = importing.slug_of(comment)
            if slug not in present:
                yield comment

    def _comment(self, prepared: PreparedComment, item: Item, stored: dict[int, str]) -> NewComment | None:
        name = preparation.one_line(prepared.author) or _("Anonymous")
        comment = NewComment(
            author=CommentAuthor(name=name, url=prepared.url),
            source=prepared.source,
            html=preparation.render(prepared.source),
            token=f"wordpress:{self.site_key}:{item.id}:{prepared.comment.id}",
            parent=stored.get(prepared.parent, ""),
            email=prepared.email,
            kind=KINDS.get(prepared.comment.kind, Kind.COMMENT),
            posted=prepared.posted,
        )
        try:
            return preparation.clean(comment)
        except InvalidComment as error:
            self.report.note(
                _("Comments left out"),
                _("comment %(number)s on %(page)s: %(error)s")
                % {"number": prepared.comment.id, "page": f"{item.type} {item.id}", "error": error},
            )
            return None

    def _hold(
        self, target: Target, item: Item, held: list[PreparedComment], present: set[str], stored: dict[int, str]
    ) -> None:
        for prepared in held:
            comment = self._comment(prepared, item, stored)
            if comment is None or importing.slug_of(comment) in present:
                continue
            if not self.dry_run:
                importing.hold_imported(target, comment, reasons=(_("The comment was pending on the old site."),))
            self.report.written["queued comment"] += 1

    def _can_queue(self, entry: Entry) -> bool:
        imported = entry.known.imported if entry.known else None
        return imported is None or self.moment - imported < QUEUE_MEMORY

    @staticmethod
    def _present(target: Target) -> set[str]:
        """Return the slugs of all stored comments, including tombstones.

        If the discussion's count is wrong, a previous run was interrupted after it stored comments, but before it
        counted them. The result is then empty, so that these comments are imported again, which corrects the count.
        """
        slugs = set()
        public = 0
        for comment in selectors.iterate(target):
            slugs.add(comment.slug)
            public += not comment.removed
        return slugs if public == selectors.count(target) else set()

    @staticmethod
    def _queued(target: Target) -> set[str]:
        """Return the slugs of all comments in the queue, even if they have been approved or rejected."""
        batches = (selectors.held(target=target, verdict=verdict, limit=MAX_QUEUED) for verdict in Verdict)
        return {held.slug for batch in batches for held in batch}
