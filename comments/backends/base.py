"""The contract of back ends. Its docstrings are checked by tests/comments/backends/contract.py.

Words used throughout:

- A *target* identifies a discussion. Reading a discussion that has not begun returns an empty one. The first post
  begins it.
- *Order*: by `(number, posted, slug)`, or threaded: by `full_slug`. Nothing else ever decides which comment comes
  first.
- *Page k of size s* contains the comments with numbers s(k−1)+1 … sk. It can contain fewer (a number was given but
  not used) or more (approved comments share a number). Its number changes only when a discussion is renumbered by
  `(posted, slug)`: after an import of older comments, and by `repair` if more than 200 comments share 100 numbers.
- *Acknowledged* means that the method returned. Every later read finds an acknowledged comment, exactly once.
- A *token* identifies one intent. Sending it again does nothing and returns the first result. (It may use up a
  number.)
- A change *sees* a `rev`. If the comment has another `rev` by now, EditConflict contains the stored comment. If the
  stored comment already is what the change would make of it, the change succeeds instead.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol, Unpack

from marginalia.comments.backends.beside import Flags, IpHashes, Subscriptions
from marginalia.comments.types import (
    Comment,
    ConversionOptions,
    Discussion,
    Fault,
    HeldComment,
    HeldQuery,
    NewComment,
    Order,
    Page,
    PageQuery,
    PostResult,
    ReplacedComment,
    Target,
    Verdict,
)


class Backend(Protocol):
    """Discussions and their comments, with flags, subscriptions and ip hashes."""

    flags: Flags
    subscriptions: Subscriptions
    ip_hashes: IpHashes

    # Writing ---------------------------------------------------------------------------------------------------------

    def post(self, target: Target, new: NewComment) -> PostResult:
        """Store a comment, once for each `new.token`, and return it.

        The result has `new` False if the comment was stored before, even if it is a tombstone now.

        `number` is one more than the highest given. `posted` is the server's time, at least 1 ms later than every
        `posted` given before. A reply below MAX_DEPTH is stored under the deepest ancestor allowed, and `answers`
        then contains the slug of the comment it replies to.

        Raises InvalidParent if `new.parent` is not a public comment here, DiscussionClosed if the discussion
        accepts no more, and DiscussionBusy if the post had to wait too long, for example because 1,000 posts are in
        progress. A busy post can be sent again.
        """

    def import_(self, target: Target, comments: Iterable[NewComment]) -> int:
        """Store comments with the `posted` (default: now), `edited` and `state` they carry. Return how many were new.

        Parents must come before replies. Closed discussions accept imports too. If an imported comment is older
        than one that was stored before, the discussion is renumbered by `(posted, slug)`.
        Raises InvalidParent. The comments before the invalid one are stored.
        """

    def edit(self, target: Target, slug: str, *, source: str, html: str, rev: int, token: str, by: str = "") -> Comment:
        """Replace the text of a public comment. Return the comment with `rev` + 1 and `edited` now.

        The replaced text is in `history`. Raises CommentNotFound (also for a removed comment), EditConflict.
        """

    def remove(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        """Replace a comment by a tombstone: text and author are blanked; slug, number and replies stay.

        `count` falls by one. A comment that is already removed is returned unchanged. Raises CommentNotFound,
        EditConflict.
        """

    def restore(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        """Restore text and author of a tombstone. `count` rises by one.

        A public comment is returned unchanged. Raises CommentNotFound and EditConflict, and NothingToRestore if the
        author was erased or the tombstone was imported.
        """

    def erase_author(self, *, id: str = "", email: str = "") -> int:
        """Blank every comment by a user's key or an email address, in every discussion, permanently.

        History and queue entries are deleted. Return how many comments were blanked or deleted. Comments that
        writers are storing at that moment are found by `sweep_erasures`. Can be repeated after a crash.
        """

    def sweep_erasures(self) -> int:
        """Search again for comments to be erased. Return how many erasures are not finished.

        An erasure finishes when no writer that was active at its time can still be writing.
        """

    def close(self, target: Target) -> None:
        """Stop accepting comments. Changes are still allowed."""

    def open(self, target: Target) -> None:
        """Accept comments (again)."""

    def delete_discussion(self, target: Target) -> int:
        """Delete the discussion of a permanently deleted target, with its queue and history.

        Return the number of deleted comments.
        """

    # The queue -------------------------------------------------------------------------------------------------------

    def hold(self, target: Target, new: NewComment, reasons: tuple[str, ...] = ()) -> PostResult:
        """Put a comment into the queue, once for each token.

        It gets the place (`number`, `posted`) it would have had as a post, without using the number up. If the
        token was posted or approved before, its public comment is returned. An imported comment keeps its `posted`,
        and closed discussions accept it too. Raises the same errors as `post`.
        """

    def approve(self, held_id: str, by: str = "", rev: int = 0) -> Comment:
        """Publish a held comment once, in its original place, however many moderators approve it.

        This includes comments that were rejected before, and those whose parent was removed since. `rev` is the
        revision that the moderator saw, 0 for any.
        Raises CommentNotFound if the queue has no comment with this id, it was withdrawn, or its author is being
        erased. Raises HeldChanged if it has another `rev`.
        """

    def change_held(self, held_id: str, *, source: str, html: str, rev: int) -> HeldComment:
        """Replace the text of a waiting comment. Return it with `rev` + 1.

        If the author changes a comment after a moderator has looked at it, that moderator's approval does not
        publish it.
        Raises CommentNotFound if it no longer waits or is being approved. Raises HeldChanged for another `rev`,
        unless the stored text is already `source`.
        """

    def withdraw(self, held_id: str) -> HeldComment:
        """Withdraw a waiting comment for its author. Only its place stays, so that its token posts nothing.

        Raises CommentNotFound if it no longer waits or is being approved.
        """

    def reject(self, held_id: str, by: str = "", verdict: Verdict = Verdict.REJECTED) -> HeldComment:
        """Record that a held comment is not published (REJECTED or SPAM), or let it wait again (WAITING).

        An approved comment stays approved and is returned unchanged. Raises CommentNotFound.
        """

    def held(self, **wanted: Unpack[HeldQuery]) -> tuple[HeldComment, ...]:
        """Return up to `limit` (default: 100) queued comments with a verdict, the longest waiting first.

        The verdict is WAITING by default, None means any. The other keys restrict the result to one target, one
        author, one slug, comments leased to the moderator `leased_by`, or comments leased to no other moderator
        than `available_to`. `after` is the id of the last comment of the previous page.
        """

    def get_held(self, held_id: str) -> HeldComment:
        """Return one queued comment. Raises CommentNotFound."""

    def count_held(self, verdict: Verdict, limit: int) -> int:
        """Return the number of queued comments with a verdict, counted up to `limit`."""

    def lease(self, by: str, until: datetime) -> HeldComment | None:
        """Lease the longest waiting comment that no other moderator has leased to `by`.

        Return None if there is none.
        """

    def release(self, by: str) -> int:
        """End the leases of a moderator. Return their number."""

    # Reading ---------------------------------------------------------------------------------------------------------

    def discussion(self, target: Target) -> Discussion:
        """Return the discussion of a target, with `begun` False if it does not exist yet."""

    def discussions(self, targets: Iterable[Target]) -> dict[Target, Discussion]:
        """Return the discussions of many targets with one look-up, including those that do not exist yet."""

    def page(self, target: Target, **wanted: Unpack[PageQuery]) -> Page:
        """Return a page of comments, 50 unless `size` is given.

        Without arguments, it is the first page of the discussion's own order.
        In the orders by number, `number` selects the page (beyond the last: the last), and 0 is the first in
        reading direction. Up to 20 pages without comments are skipped in reading direction. If none of the
        following pages has comments, an empty page is returned.
        In threaded order, `after` and `before` are cursors from a Page.
        In both, `at` is the slug of a comment whose page is wanted. Raises CommentNotFound if there is none.
        """

    def get(self, target: Target, slug: str) -> Comment:
        """Return one comment, which can be a tombstone. Raises CommentNotFound."""

    def newest(self, target: Target, limit: int = 50) -> Page:
        """Return the newest public comments of a discussion as a page without neighbours, newest first.

        The result does not depend on the order of the discussion.
        """

    def subdiscussion(self, target: Target, slug: str, *, size: int = 50, after: str = "") -> Page:
        """Return a comment and all its descendants, threaded, by cursor. Raises CommentNotFound."""

    def iterate(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[Comment]:
        """Yield every comment, including tombstones.

        Memory use is constant if the layout is sorted by `order` (OLDEST or THREADED). Raises DiscussionBusy if the
        discussion was converted during the iteration and the old copy was dropped.
        """

    def recent(self, limit: int = 10, *, label: str = "") -> tuple[Comment, ...]:
        """Return the newest public comments of all discussions (of one label), newest first."""

    def by_author(self, author_id: str, *, limit: int = 50, before: datetime | None = None) -> tuple[Comment, ...]:
        """Return the public comments of a user in all discussions, newest first.

        `before` is the `posted` of the last comment of the previous page.
        """

    def written_by(self, *, id: str = "", email: str = "") -> Iterator[Comment | HeldComment | ReplacedComment]:
        """Yield everything stored about a user's key or an email address, unordered.

        This includes comments, queued comments and replaced texts.
        """

    def targets(self, *, label: str = "") -> Iterator[Target]:
        """Yield the targets (of one label) that have a discussion, by `id`."""

    def iterate_with_emails(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[tuple[Comment, str]]:
        """Yield the comments of `iterate`, each with the email address that its author left, or "". For exports."""

    def history(self, target: Target, slug: str) -> tuple[ReplacedComment, ...]:
        """Return the versions of a comment that changes replaced, newest first."""

    def email_of(self, target: Target, slug: str) -> str:
        """Return the email address that the author of a comment left, or "".

        For notices and moderators, never for a page.
        """

    # Upkeep ----------------------------------------------------------------------------------------------------------

    def convert(self, target: Target, layout: str, order: Order, **how: Unpack[ConversionOptions]) -> int | None:
        """Convert a discussion to another layout or order while it is in use.

        Return the number of copied comments, None if the discussion already has this layout and order. With
        `renumber`, number it again by (posted, slug). With `patience`, give up after so many seconds of waiting for
        writers. `progress` is called with the number of comments copied so far.
        A conversion whose process died is started again. Raises ConversionFailed if another process converts the
        discussion, the target cannot store the comments, writers do not finish, or the copies differ.
        """

    def drop_old_copies(self, target: Target) -> int:
        """Delete old copies that conversions have left for slow readers, once they are due.

        Return how many copies are kept.
        """

    def audit(self, target: Target) -> list[Fault]:
        """Return the faults of a stored discussion. Copies and claims that are not due yet are no faults."""

    def repair(self, target: Target, faults: list[Fault], *, accept_loss: bool = False) -> int:
        """Repair those of `faults` that can be repaired. Return the number of repairs.

        With `accept_loss`, also accept lost comments, so that they no longer count. Discussions that are being
        written to are left for the next time.
        Raises ConversionFailed if another process converts the discussion.
        """

    def tidy(self) -> int:
        """Do the worker's upkeep of each minute. Return how much there was to do.

        It ends claims of dead writers and dead conversions, drops old copies, and searches for comments to be
        erased. No reader or writer waits for it.
        """

    def claimed_before(self, moment: datetime, limit: int) -> list[Target]:
        """Return up to `limit` discussions with a claim older than `moment`."""

    def moving_before(self, moment: datetime, limit: int) -> list[Discussion]:
        """Return up to `limit` discussions under conversion whose converter has written nothing since `moment`."""

    def sample(self, size: int, *, longest: int) -> list[Target]:
        """Return up to `size` random discussions with at most `longest` comments each."""

    def without_discussion(self, sample: int) -> dict[str, list[str]]:
        """Return the targets, as "app.model:pk", that have comments but no discussion.

        They are grouped by the collection of the comments. In a large collection, a random sample of `sample`
        documents is read.
        """
