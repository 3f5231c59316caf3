"""The contract that every backend fulfils. The tests in tests/comments/backends/contract.py verify this contract.

Terms used in this contract:

- *Target*: identifies a discussion. A discussion is created by its first post. Until then, reading it returns an empty
  discussion.
- *Order*: comments are sorted by `(number, posted, slug)`, or by `full_slug` in threads. No other field affects the
  order.
- *Page k of size s*: the comments numbered s(k−1)+1 to sk. A page can contain fewer than s comments, because some
  numbers are never used. It can contain more than s comments, because an approved comment can have the same number as
  another comment. A comment moves to another page only when the discussion is renumbered by `(posted, slug)`. This
  happens when older comments have been imported, and when `repair` finds that more than 300 comments share 100 numbers.
- *Acknowledged*: a comment is acknowledged when the method that stores it returns. Every later read returns the comment
  exactly once.
- *Token*: identifies one intended write. If the same token is used again, nothing is changed, and the first result is
  returned. (However, posting again with the same token may use up a number.)
- *`rev`*: each change specifies the revision that the user saw. If the stored comment has a different revision, the
  change raises EditConflict, which contains the stored comment. However, if the stored comment is already what the
  change would produce, the change succeeds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol, Unpack

from marginalia.comments.backends.bans import Bans
from marginalia.comments.backends.beside import Flags, Imported, IpHashes, Lessons, Subscriptions
from marginalia.comments.backends.likes import Likes
from marginalia.comments.types import (
    Batch,
    Comment,
    ConversionOptions,
    Discussion,
    Fault,
    Found,
    HeldComment,
    HeldQuery,
    NewComment,
    OnDecided,
    Order,
    Page,
    PageQuery,
    PostResult,
    ReplacedComment,
    RestrictionChanges,
    Selected,
    Selection,
    State,
    Target,
    Verdict,
)


class Backend(Protocol):
    """Storage for discussions, their comments, the moderation queue, and data about comments."""

    flags: Flags
    likes: Likes
    subscriptions: Subscriptions
    ip_hashes: IpHashes
    lessons: Lessons
    imported: Imported
    bans: Bans

    # Writing ---------------------------------------------------------------------------------------------------------

    def post(self, target: Target, new: NewComment) -> PostResult:
        """Store a comment and return it. Posting several times with the same token creates only one comment.

        `number` is one more than the highest number assigned so far. `posted` is the server's time, but at least 1 ms
        later than any `posted` assigned so far. A reply that would exceed MAX_DEPTH is stored under the deepest allowed
        ancestor. Its `answers` then contains the slug of the comment that it replies to.

        Returns:
            The stored comment. `new` is False if the comment had already been stored, even if it has since been
            removed.

        Raises:
            InvalidParent: `new.parent` is not a public comment in this discussion.
            DiscussionClosed: The discussion no longer accepts comments.
            DiscussionBusy: The post had to wait too long, for example because 1,000 other posts were in progress. It
                can be sent again.
        """

    def import_(self, target: Target, comments: Iterable[NewComment], *, renumber: bool = True) -> int:
        """Import comments with their own `posted` time (default: now), `edited` time and `state`.

        If an imported comment is older than a stored comment, the discussion is renumbered by `(posted, slug)`.

        Args:
            target: The target of the discussion, which may be closed already.
            comments: The comments. Parents must come before their replies.
            renumber: Whether to renumber the discussion if necessary. After the last of several calls with False, call
                this method again with True.

        Returns:
            The number of new comments.

        Raises:
            InvalidParent: The parent of a comment does not exist. All comments before this comment have been stored.
        """

    def import_many(self, discussions: Mapping[Target, Sequence[NewComment]]) -> int:
        """Import comments of many discussions, each as `import_` does.

        Short discussions that don't exist yet are imported together, with a few commands for all of them.

        Returns:
            The number of new comments. If another process imports the same comments into the same new discussions at
            the same time, both processes may count them.

        Raises:
            InvalidParent: The parent of a comment does not exist.
        """

    def settled(self, wanted: Sequence[Target]) -> dict[Target, frozenset[str]]:
        """Return the slugs of the comments of short discussions, keyed by target.

        Leave out discussions with active writers, and those that have to be renumbered, for example because an import
        was interrupted. A discussion that doesn't exist yet has no slugs.
        """

    def edit(self, target: Target, slug: str, *, source: str, html: str, rev: int, token: str, by: str = "") -> Comment:
        """Replace the text of a public comment. The old text is added to the comment's history.

        Returns:
            The comment with `rev` increased by one and `edited` set to the current time.

        Raises:
            CommentNotFound: The comment does not exist or was removed.
            EditConflict: The stored revision differs from `rev`.
        """

    def remove(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        """Replace a comment with a tombstone, which keeps the slug, number and replies, but not the text and author.

        The discussion's `count` decreases by one. A comment that was already removed is returned unchanged.

        Raises:
            CommentNotFound: The comment does not exist.
            EditConflict: The stored revision differs from `rev`.
        """

    def restore(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        """Restore the text and author of a removed comment. The discussion's `count` increases by one.

        A public comment is returned unchanged.

        Raises:
            CommentNotFound: The comment does not exist.
            EditConflict: The stored revision differs from `rev`.
            NothingToRestore: The author's data was erased, or the tombstone was imported.
        """

    def remove_many(self, target: Target, wanted: Iterable[str], *, token: str, by: str = "") -> int:
        """Remove the public comments among those with the slugs `wanted`, whatever their revisions.

        A comment that was removed with this token before and has been restored since stays public.

        Returns:
            The number of comments that were removed with this token and not counted by an earlier call.

        Raises:
            CommentNotFound: There is no discussion.
            DiscussionBusy: The removal had to wait too long. It can be tried again.
        """

    def restore_many(self, target: Target, wanted: Iterable[str], *, token: str, by: str = "") -> int:
        """Restore the comments among `wanted` that are still removed as `remove_many` with this token left them.

        Comments by erased authors stay removed.

        Returns:
            The number of comments that were restored and not counted by an earlier call.

        Raises:
            CommentNotFound: There is no discussion.
            DiscussionBusy: The restoration had to wait too long. It can be tried again.
        """

    def erase_author(self, *, id: str = "", email: str = "") -> int:
        """Permanently erase the text and author data of all comments by an author (account `id` or email address).

        The author's entries in the history and in the queue are deleted too. Comments that were being written during
        this call are erased later, by `sweep_erasures`. If the process crashes during this call, call the method again.

        Returns:
            The number of comments that were erased or deleted.
        """

    def sweep_erasures(self) -> int:
        """Search again for comments by authors whose data was erased, and erase these comments.

        An erasure is finished when it is certain that every writer that was active when the erasure began has stopped,
        and nothing is left to erase.

        Returns:
            The number of erasures that are not finished yet.
        """

    def close(self, target: Target) -> None:
        """Close a discussion, so that it accepts no new comments. Existing comments can still be changed."""

    def open(self, target: Target) -> None:
        """Reopen a closed discussion, so that it accepts new comments."""

    def restrict(self, target: Target, **changes: Unpack[RestrictionChanges]) -> None:
        """Change restrictions of a discussion. Create the discussion if it does not exist."""

    def lock_thread(self, target: Target, slug: str, *, locked: bool) -> None:
        """Lock or unlock the thread of a comment.

        Raises:
            CommentNotFound: The comment does not exist.
            TooManyLocked: MAX_LOCKED other threads of the discussion are locked.
        """

    def delete_discussion(self, target: Target) -> int:
        """Delete the discussion of a permanently deleted target, including queued comments and the history.

        Returns:
            The number of deleted comments.
        """

    # The queue -------------------------------------------------------------------------------------------------------

    def hold(self, target: Target, new: NewComment, reasons: tuple[str, ...] = ()) -> PostResult:
        """Add a comment to the moderation queue. Several calls with the same token add only one comment.

        The comment gets the highest number assigned so far, so no new number is used up. If a comment with this token
        was already posted or approved, the public comment is returned. An imported comment keeps its `posted` time, and
        can be held even if the discussion is closed.

        Args:
            target: The target of the discussion.
            new: The comment.
            reasons: The reasons why the comment has to wait for a moderator.

        Raises:
            InvalidParent: `new.parent` is not a public comment in this discussion.
            DiscussionClosed: The discussion no longer accepts comments.
            DiscussionBusy: The write had to wait too long.
        """

    def approve(self, held_id: str, by: str = "", rev: int = 0) -> Comment:
        """Publish a held comment with the number and time that it got when it was held.

        If several moderators approve the comment, it is published only once. A comment can be approved even if it was
        rejected before, or if its parent has since been removed.

        Args:
            held_id: The id of the comment in the queue.
            by: The primary key of the moderator, or "".
            rev: The revision that the moderator saw, or 0 for any revision.

        Raises:
            CommentNotFound: The queue has no such comment, the comment was withdrawn, or its author's data is being
                erased.
            HeldChanged: The stored revision differs from `rev`.
        """

    def change_held(self, held_id: str, *, source: str, html: str, rev: int) -> HeldComment:
        """Replace the text of a pending comment, and return the comment with `rev` increased by one.

        If a moderator then approves the old text, `approve` raises HeldChanged instead of publishing the new text.

        Raises:
            CommentNotFound: The comment is no longer pending, or is being approved.
            HeldChanged: The stored revision differs from `rev`, and the stored text differs from `source`.
        """

    def withdraw(self, held_id: str) -> HeldComment:
        """Withdraw a pending comment on behalf of its author.

        Its entry in the queue is kept without text or author, so that the token can't be used again.

        Raises:
            CommentNotFound: The comment is no longer pending, or is being approved.
        """

    def reject(self, held_id: str, by: str = "", verdict: Verdict = Verdict.REJECTED) -> HeldComment:
        """Reject a held comment (REJECTED or SPAM), or return it to the queue (WAITING).

        An approved comment is returned unchanged.

        Raises:
            CommentNotFound: The queue has no such comment.
        """

    def held(self, **wanted: Unpack[HeldQuery]) -> tuple[HeldComment, ...]:
        """Return queued comments with a given verdict, oldest first.

        Args:
            **wanted: Filters.
                `verdict` is WAITING by default. None selects comments with any verdict.
                `target`, `author_id` and `slug` select comments in this discussion, by this author, or with this slug.
                `leased_by` selects comments that are leased to this moderator.
                `available_to` excludes comments that are leased to other moderators.
                `after` is the id of the last comment on the previous page.
                `limit` is the maximum number of comments. The default is 100.
        """

    def get_held(self, held_id: str) -> HeldComment:
        """Return one queued comment.

        Raises:
            CommentNotFound: The queue has no such comment.
        """

    def count_held(self, verdict: Verdict, limit: int) -> int:
        """Return the number of queued comments with this verdict, but at most `limit`."""

    def lease(self, by: str, until: datetime) -> HeldComment | None:
        """Lease to the moderator `by` the oldest pending comment that isn't leased yet.

        Args:
            by: The primary key of the moderator.
            until: The time when the lease expires.

        Returns:
            The leased comment, or None if all pending comments are already leased.
        """

    def release(self, by: str) -> int:
        """End all leases of the moderator `by`, and return how many were ended."""

    # Reading ---------------------------------------------------------------------------------------------------------

    def discussion(self, target: Target) -> Discussion:
        """Return the discussion of a target. If the discussion is not stored yet, `begun` is False."""

    def discussions(self, targets: Iterable[Target]) -> dict[Target, Discussion]:
        """Return the discussions of many targets, using one query. Discussions that are not stored yet are included."""

    def page(self, target: Target, **wanted: Unpack[PageQuery]) -> Page:
        """Return a page of comments. By default, this is the first page in the discussion's default order.

        Args:
            target: The target of the discussion.
            **wanted: The requested page.
                `order` is the order of the comments. If it is not given, the discussion's default order is used.
                `size` is the number of comments per page. The default is 50.
                `number` is the page number (orders OLDEST and NEWEST). 0 is the first page in reading order. Numbers
                beyond the last page select the last page.
                `after` and `before` are cursors from a Page (order THREADED).
                `at` is the slug of a comment on the requested page.

        Returns:
            The page. If the page is empty, the next page in reading order is returned instead. At most 20 pages are
            tried. If all of them are empty, an empty page is returned.

        Raises:
            CommentNotFound: There is no comment with the slug `at`.
        """

    def get(self, target: Target, slug: str) -> Comment:
        """Return one comment, even if it has been removed (a tombstone).

        Raises:
            CommentNotFound: There is no comment with this slug.
        """

    def newest(self, target: Target, limit: int = 50) -> Page:
        """Return the newest public comments of a discussion, newest first, as a page without links to other pages.

        The result does not depend on the order of the discussion.
        """

    def subdiscussion(self, target: Target, slug: str, *, size: int = 50, after: str = "") -> Page:
        """Return a page that begins with a comment, followed by its descendants in threaded order.

        Raises:
            CommentNotFound: There is no comment with this slug.
        """

    def iterate(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[Comment]:
        """Yield all comments of a discussion, including tombstones.

        If `order` is the order in which the discussion is stored (OLDEST or THREADED), memory use doesn't depend on the
        number of comments.

        Raises:
            DiscussionBusy: The discussion was converted during the iteration, and the copy that was being read has been
                deleted.
        """

    def recent(self, limit: int = 10, *, label: str = "") -> tuple[Comment, ...]:
        """Return the newest public comments, newest first.

        If `label` is given, return only comments on objects of this model.
        """

    def by_author(self, author_id: str, *, limit: int = 50, before: datetime | None = None) -> tuple[Comment, ...]:
        """Return the public comments of an account in all discussions, newest first.

        Args:
            author_id: The primary key of the account.
            limit: The maximum number of comments.
            before: The `posted` time of the last comment on the previous page.
        """

    def written_by(self, *, id: str = "", email: str = "") -> Iterator[Comment | HeldComment | ReplacedComment]:
        """Yield all comments by an author (account `id` or email address), in no particular order.

        The result includes queued comments and previous versions.
        """

    def targets(self, *, label: str = "") -> Iterator[Target]:
        """Yield the targets that have a discussion, ordered by `id`.

        If `label` is given, yield only targets of this model.
        """

    def iterate_with_emails(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[tuple[Comment, str]]:
        """Yield the same comments as `iterate`, each with the email address of its author, or "".

        Use this only for exports.
        """

    def history(self, target: Target, slug: str) -> tuple[ReplacedComment, ...]:
        """Return the previous versions of a comment, newest first."""

    def email_of(self, target: Target, slug: str) -> str:
        """Return the email address of a comment's author, or "".

        Use the address only for notices and for display to moderators. Never show it on public pages.
        """

    # Searches and bulk decisions -------------------------------------------------------------------------------------

    def count_selected(self, selection: Selection) -> Selected:
        """Return how many public and pending comments a selection contains."""

    def search(
        self,
        selection: Selection,
        states: Iterable[State | Verdict],
        *,
        limit: int,
        before: tuple[datetime, str] | None = None,
    ) -> list[Found]:
        """Return the comments of a selection that are in one of these states, newest first.

        `before` is the `(posted, id)` of the last comment on the previous page.
        """

    def get_with_texts(self, target: Target, slugs: Iterable[str]) -> dict[str, Comment]:
        """Return those comments of a discussion that exist, keyed by slug. Show them only to moderators.

        A removed comment has the author and text that it had before, unless its author was erased.
        """

    def terms_of(self, target: Target, slug: str) -> tuple[str, ...]:
        """Return the terms of a published or pending comment, or () if they aren't known."""

    def mark_spam(self, target: Target, slug: str) -> None:
        """Record that a removed comment was spam. If the comment is restored, the mark is deleted."""

    def has_spam_by(self, author_id: str, since: datetime) -> bool:
        """Return whether the queue contains spam by an account, or a comment posted since then was removed as spam."""

    def has_spam_among(self, comments: Iterable[tuple[Target, str]]) -> bool:
        """Return whether one of these comments, given by target and slug, is spam in the queue or was removed as spam."""

    def start_batch(
        self, selection: Selection, verdict: Verdict, *, what: str = "", by: str = "", origin: str = ""
    ) -> Batch:
        """Store the decision to hide the public comments of a selection, and to give the pending ones a verdict.

        If the verdict is APPROVED, the pending comments are published, and the public ones are left alone. Nothing is
        changed until `work_on_batch` is called.

        Args:
            selection: The comments. Comments that are posted later aren't included.
            verdict: The verdict on pending comments: SPAM, REJECTED or APPROVED.
            what: The term by which the comments were selected, or "".
            by: The primary key of the moderator, or "".
            origin: The scheme and host for links in notices about approved comments, or "".
        """

    def work_on_batch(
        self, batch_id: str, *, seconds: float | None = None, report: OnDecided | None = None
    ) -> Batch | None:
        """Continue a batch until it is finished, or until `seconds` have passed. Return the batch.

        If another process is working on the batch, do nothing. If the process dies, the next call continues.

        Args:
            batch_id: The id of the batch.
            seconds: The time after which the rest is left to the next call, or None for no limit.
            report: A function that is called with groups of comments that were decided on. After a crash, some groups
                may be missing, or be reported twice.
        """

    def undo_batch(self, batch_id: str, *, by: str = "") -> Batch | None:
        """Record that a batch is to be undone, and return the batch. `work_on_batch` then restores the comments.

        Only comments that are still as the batch left them are restored. Comments that the batch has published are
        removed.
        """

    def batch(self, batch_id: str) -> Batch | None:
        """Return a batch, or None if there is no such batch."""

    def batches(self, *, limit: int, after: str = "") -> list[Batch]:
        """Return batches, newest first. `after` is the id of the last batch on the previous page."""

    def tidy_batches(self, *, report: OnDecided | None = None) -> int:
        """Continue all batches whose process died. A worker calls this every minute. Return how many there were.

        For `report`, see `work_on_batch`.
        """

    # Upkeep ----------------------------------------------------------------------------------------------------------

    def convert(self, target: Target, layout: str, order: Order, **how: Unpack[ConversionOptions]) -> int | None:
        """Convert a discussion to another layout or order while it is in use.

        If an earlier conversion was interrupted, this conversion starts from the beginning.

        Args:
            target: The target of the discussion.
            layout: The name of the new layout.
            order: The new order.
            **how: Options.
                `renumber` specifies whether to renumber the comments by `(posted, slug)`.
                `patience` is the maximum number of seconds to wait until no writer is active. None means no limit.
                `progress` is called with the number of comments copied so far.

        Returns:
            The number of copied comments, or None if the discussion already has this layout and order.

        Raises:
            ConversionFailed: Another process is converting the discussion, the target can't store the comments, some
                comments are malformed, writers don't finish in time, or the copies differ.
        """

    def drop_old_copies(self, target: Target) -> int:
        """Delete the old copies of a discussion that have been kept long enough.

        A conversion keeps the old copy for readers that have already started to read it.

        Returns:
            The number of old copies that are still kept.
        """

    def audit(self, target: Target) -> list[Fault]:
        """Return the faults in a stored discussion.

        A claim counts as a fault only if its writer must have stopped. A copy counts as a fault only if it is no longer
        needed.
        """

    def repair(self, target: Target, faults: list[Fault], *, accept_loss: bool = False) -> int:
        """Repair `faults` as far as possible.

        If a comment is being written at the same time, the counts of the discussion are not repaired until the next
        call.

        Args:
            target: The target of the discussion.
            faults: The result of `audit`.
            accept_loss: Whether to accept that comments have been lost, so that the count can be lowered, and copies
                with otherwise lost comments can be deleted.

        Returns:
            The number of repairs.

        Raises:
            ConversionFailed: Another process is converting the discussion.
        """

    def tidy(self) -> int:
        """Run the maintenance that a worker performs every minute. The maintenance never blocks readers or writers.

        This method completes or removes claims whose writer died, ends conversions whose process died, deletes old
        copies that are no longer needed, and searches again for comments to erase.

        Returns:
            The number of discussions that needed maintenance.
        """

    def claimed_before(self, moment: datetime, limit: int) -> list[Target]:
        """Return the targets of up to `limit` discussions that have a claim older than `moment`."""

    def moving_before(self, moment: datetime, limit: int) -> list[Discussion]:
        """Return up to `limit` discussions whose conversion has made no progress since `moment`."""

    def sample(self, size: int, *, longest: int) -> list[Target]:
        """Return the targets of up to `size` random discussions that have at most `longest` comments."""

    def without_discussion(self, sample: int) -> dict[str, list[str]]:
        """Return targets that have comments but no discussion document.

        Args:
            sample: How many random documents to read from each large collection. Small collections are read completely.

        Returns:
            The targets as "app.model:pk", keyed by the name of the collection that contains their comments.
        """
