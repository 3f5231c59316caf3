"""Store imported comments: approved comments in discussions, and pending comments in the moderation queue."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from marginalia.comments.errors import InvalidComment
from marginalia.comments.moderation import pending
from marginalia.comments.operations import importing
from marginalia.comments.operations.importing import EarlierImports
from marginalia.comments.posting import preparation
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Kind, NewComment, Target
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


class Discussions:
    """A writer that stores comments, each of them only once.

    A comment that this site already has is not stored again, even if it was removed or rejected. If the old site has
    since approved a comment in the queue, the comment is published.
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
        earlier, is_counted = self._earlier(target) if entry.known else (EarlierImports(), True)
        stored: dict[int, str] = {}
        new = list(self._new(item, earlier, stored, is_counted=is_counted))
        queued = [held for comment in new if (held := earlier.held(comment.token))]
        if self.dry_run:
            self.report.written["comment"] += len(new)
        else:
            for held in queued:
                pending.approve(held.id)
            self.report.written["comment"] += len(queued) + importing.import_(target, new)
        waiting = list(pending_comments(item.comments, item.posted or self.moment))
        if waiting and (not entry.known or self._can_queue(entry)):
            self._hold(target, item, waiting, earlier, stored)

    def _new(
        self, item: Item, earlier: EarlierImports, stored: dict[int, str], *, is_counted: bool
    ) -> Iterator[NewComment]:
        """Yield the approved comments that are not published yet. If `is_counted` is false, yield all of them.

        Add the slug of each approved comment to `stored`, keyed by the comment's id on the old site.
        """
        for prepared in approved_comments(item.comments, item.posted or self.moment):
            comment = self._comment(prepared, item, stored)
            held = earlier.held(comment.token) if comment else None
            if comment is None or (held and importing.is_refused(held)):
                # The comment isn't stored, so attach its replies to its parent.
                stored[prepared.comment.id] = stored.get(prepared.parent, "")
                continue
            known = earlier.stored(comment.token)
            slug = known or (held.slug if held else importing.slug_of(comment))
            stored[prepared.comment.id] = slug
            if not (known and is_counted):
                yield replace(comment, slug=slug)

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
        self,
        target: Target,
        item: Item,
        waiting: list[PreparedComment],
        earlier: EarlierImports,
        stored: dict[int, str],
    ) -> None:
        for prepared in waiting:
            comment = self._comment(prepared, item, stored)
            if comment is None or earlier.stored(comment.token) or earlier.held(comment.token):
                continue
            if not self.dry_run:
                importing.hold_imported(target, comment, reasons=(_("The comment was pending on the old site."),))
            self.report.written["queued comment"] += 1

    def _can_queue(self, entry: Entry) -> bool:
        imported = entry.known.imported if entry.known else None
        return imported is None or self.moment - imported < QUEUE_MEMORY

    @staticmethod
    def _earlier(target: Target) -> tuple[EarlierImports, bool]:
        """Return the comments of earlier runs, and whether the discussion's count is right.

        If the count is wrong, a previous run was interrupted after it stored comments, but before it counted them.
        The comments must then be imported again, which corrects the count.
        """
        slugs = set()
        public = 0
        for comment in selectors.iterate(target):
            slugs.add(comment.slug)
            public += not comment.removed
        return EarlierImports(slugs, importing.queue_of(target)), public == selectors.count(target)
