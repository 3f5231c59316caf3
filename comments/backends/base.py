"""The contract. A back end does what the docstrings of Backend say, and tests/comments/backends/contract.py checks it.

Words used throughout:

- A *target* names a discussion. Reading one that is not begun gives an empty one; the first post begins it.
- *Order*: by `(number, posted, slug)`, or threaded: by `full_slug`. Nothing else ever decides what comes first.
- *Page k of size s* is the comments with numbers s(k−1)+1 … sk. It may hold fewer (a number that was given and not
  used), or more (approved comments share a number). Its address moves only when a discussion is numbered anew, by
  `(posted, slug)`: after an import of older comments, and by `mend` where more than 200 share 100 numbers.
- *Acknowledged* means: the method returned. What was acknowledged is found by every later read, exactly once.
- A *token* names one intent. Sending it again does nothing a second time and returns what came of the first. (It may use
  up a number.)
- A change *sees* a `rev`. If the comment has another by now, EditConflict carries the stored comment, unless what is
  stored is what the change would have made: then it succeeds.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol, Unpack

from marginalia.comments.backends.beside import Flags, IpHashes, Subscriptions
from marginalia.comments.types import (
    Comment,
    Converting,
    Discussion,
    Fault,
    Held,
    HeldQuery,
    NewComment,
    Order,
    Page,
    PageQuery,
    Posted,
    Replaced,
    Target,
    Verdict,
)


class Backend(Protocol):
    """Discussions and their comments, and what is kept beside them."""

    flags: Flags
    subscriptions: Subscriptions
    ip_hashes: IpHashes

    # Writing ---------------------------------------------------------------------------------------------------------

    def post(self, target: Target, new: NewComment) -> Posted:
        """Store a comment, once for each `new.token`, and return it (`new` False if it was there before, also as
        tombstone).

        `number` is one more than the highest given, `posted` the server's time, later than every `posted` given before
        by at least 1 ms. A reply below MAX_DEPTH is stored under the deepest ancestor allowed; `answers` then names
        the comment it replies to. Raises InvalidParent if `new.parent` is not a public comment here; DiscussionClosed
        if it takes no more; DiscussionBusy if it had to wait too long, as where 1,000 posts are under way:
        send it again.
        """

    def import_(self, target: Target, comments: Iterable[NewComment]) -> int:
        """Store comments with the `posted` (else: now), `edited` and `state` they carry; return how many were new.

        Parents come before replies. Closed discussions take imports too. Where an imported comment is older than one
        that was there, the discussion is numbered anew by `(posted, slug)`. Raises InvalidParent; what came before
        that is stored.
        """

    def edit(self, target: Target, slug: str, *, source: str, html: str, rev: int, token: str, by: str = "") -> Comment:
        """Replace a public comment's text; return it as it is then: `rev` + 1, `edited` now. What was replaced is in
        `history`.

        Raises CommentNotFound (also for a removed one), EditConflict.
        """

    def remove(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        """Make a tombstone of a comment: text and author are blanked, slug, number and replies stay, `count` falls by
        one.

        One that is removed already is returned as it is. Raises CommentNotFound, EditConflict.
        """

    def restore(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        """Give a tombstone its text and author back; `count` rises by one. A public comment is returned as it is.

        Raises CommentNotFound, EditConflict, NothingToRestore (its author was erased, or it was imported as a
        tombstone).
        """

    def erase_author(self, *, id: str = "", email: str = "") -> int:
        """Blank every comment by a user's key or an e-mail address, in every discussion, without a way back, and
        delete what history and queue hold of them; return how many comments were blanked or deleted. What writers had in
        hand is found by `sweep_erasures`. May be repeated after a crash."""

    def sweep_erasures(self) -> int:
        """Look again for what is to be erased; return how many erasures are not over: writers of that time may be at work."""

    def close(self, target: Target) -> None:
        """Take no more comments from now on. Changes are still allowed."""

    def open(self, target: Target) -> None:
        """Take comments (again)."""

    def forget(self, target: Target) -> int:
        """Delete the discussion, its queue and history: the target is gone for good. Returns how many comments went."""

    # The queue -------------------------------------------------------------------------------------------------------

    def hold(self, target: Target, new: NewComment, reasons: tuple[str, ...] = ()) -> Posted:
        """Put a comment into the queue, once for each token, in the place (`number`, `posted`) it would have had,
        without using the number up. A token that was posted or approved before returns its public comment. An imported
        one keeps the `posted` it carries, and closed discussions take it too. Raises as `post`."""

    def approve(self, held_id: str, by: str = "", rev: int = 0) -> Comment:
        """Publish a held comment in its original place, once, however many approve it; also one that was decided
        otherwise before, and below a parent that was removed since. `rev`: the one that the moderator saw, 0 for any.
        Raises CommentNotFound if the queue has none of this id, it was withdrawn, or its author is being erased;
        HeldChanged if it has another `rev`."""

    def change_held(self, held_id: str, *, source: str, html: str, rev: int) -> Held:
        """Replace the text of a comment that waits; return it with `rev` + 1. What its author changes after a moderator
        looked at it is not published by that moderator. Raises CommentNotFound if it does not wait any more, or is being
        approved; HeldChanged for another `rev`, unless the text is that already."""

    def withdraw(self, held_id: str) -> Held:
        """Take a waiting comment out of the queue for its author: nothing is left but its place, so that its token posts
        nothing. Raises CommentNotFound if it does not wait any more, or is being approved."""

    def reject(self, held_id: str, by: str = "", verdict: Verdict = Verdict.REJECTED) -> Held:
        """Record that a held comment is not published (REJECTED or SPAM), or make it wait again (WAITING). An approved
        one stays approved and is returned as it is. Raises CommentNotFound."""

    def held(self, **wanted: Unpack[HeldQuery]) -> tuple[Held, ...]:
        """Return up to `limit` (100) queued comments of a verdict (WAITING; None: any), the longest waiting first: of one
        target, by one user, with one slug, leased to the moderator `taken_by`, or leased to no other than the moderator
        `open_to`. `after` is the id of the last one shown."""

    def get_held(self, held_id: str) -> Held:
        """Return one queued comment. Raises CommentNotFound."""

    def count_held(self, verdict: Verdict, limit: int) -> int:
        """Return how many queued comments have a verdict, counted up to `limit`."""

    def take(self, by: str, until: datetime) -> Held | None:
        """Lease the comment that waits longest, and is leased to no other moderator, to `by`; None if there is none."""

    def release(self, by: str) -> int:
        """End the leases of a moderator; return how many there were."""

    # Reading ---------------------------------------------------------------------------------------------------------

    def discussion(self, target: Target) -> Discussion:
        """Return a target's discussion, `begun` False if there is none yet."""

    def discussions(self, targets: Iterable[Target]) -> dict[Target, Discussion]:
        """Return the discussions of many targets in one look-up, those not begun included."""

    def page(self, target: Target, **wanted: Unpack[PageQuery]) -> Page:
        """Return a page of comments, of 50 unless `size` says otherwise; without arguments the first of the discussion's own
        order.

        By number: `number` says which (beyond the last: the last), 0 the first in reading direction. Up to 20 pages
        without comments are passed over in reading direction; where no more follows, the last is shown empty. Threaded:
        `after` and `before` are cursors from a Page. In both, `at` is a slug whose page is wanted (CommentNotFound if
        there is none).
        """

    def get(self, target: Target, slug: str) -> Comment:
        """Return one comment, also a tombstone. Raises CommentNotFound."""

    def newest(self, target: Target, limit: int = 50) -> Page:
        """Return the newest public comments of a discussion as a page without neighbours, newest first, whatever order it
        is kept in."""

    def subdiscussion(self, target: Target, slug: str, *, size: int = 50, after: str = "") -> Page:
        """Return a comment and all that hangs below it, threaded, by cursor. Raises CommentNotFound."""

    def iterate(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[Comment]:
        """Yield every comment, tombstones too, in flat memory where `order` (OLDEST or THREADED) is one the layout is
        sorted by. Raises DiscussionBusy if the discussion was converted, and the old copy dropped, while it was read."""

    def recent(self, limit: int = 10, *, label: str = "") -> tuple[Comment, ...]:
        """Return the newest public comments of all discussions (of one label), newest first."""

    def by_author(self, author_id: str, *, limit: int = 50, before: datetime | None = None) -> tuple[Comment, ...]:
        """Return a user's public comments in all discussions, newest first; `before` is the last one's `posted`."""

    def written_by(self, *, id: str = "", email: str = "") -> Iterator[Comment | Held | Replaced]:
        """Yield all that is kept of a user's key or an e-mail address: comments, queued ones, replaced texts; unordered."""

    def targets(self, *, label: str = "") -> Iterator[Target]:
        """Yield the targets (of one label) whose discussion was begun, by `id`."""

    def with_addresses(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[tuple[Comment, str]]:
        """Yield as `iterate`, each comment with the e-mail address that its author left, or "": for exports."""

    def history(self, target: Target, slug: str) -> tuple[Replaced, ...]:
        """Return what changes of a comment replaced, newest first."""

    def email_of(self, target: Target, slug: str) -> str:
        """Return the e-mail address that a comment's author left, or "": for notices and moderators, never for a
        page."""

    # Upkeep ----------------------------------------------------------------------------------------------------------

    def convert(self, target: Target, layout: str, order: Order, **how: Unpack[Converting]) -> int | None:
        """Convert a discussion to another layout or order while it is in use; return how many comments were copied, None if
        it is so already. `renumber`: number it anew by (posted, slug). `patience`: after so many seconds of waiting for
        writers, give up; `progress` hears how many comments are copied.

        A conversion that died is begun anew. Raises ConversionFailed: another converter is at work, the target cannot hold
        the comments, writers do not end, or the copies differ.
        """

    def drop_old_copies(self, target: Target) -> int:
        """Delete what conversions have left for slow readers, where its time has come; return how many copies are kept."""

    def audit(self, target: Target) -> list[Fault]:
        """Return what is wrong with a stored discussion. What waits for its time is no fault."""

    def mend(self, target: Target, faults: list[Fault], *, accept_loss: bool = False) -> int:
        """Put right what of these can be; return how many were. `accept_loss`: also forget comments that are lost. What
        is being written to is left for the next time. Raises ConversionFailed where another process converts the discussion."""

    def tidy(self) -> int:
        """What a worker does each minute: end claims whose writers died and dead conversions, drop old copies, sweep for
        what is to be erased. Return how much there was to do. Nothing waits for it."""

    def claimed_before(self, moment: datetime, limit: int) -> list[Target]:
        """Return up to `limit` discussions with a claim from before a moment."""

    def moving_before(self, moment: datetime, limit: int) -> list[Discussion]:
        """Return up to `limit` discussions that are `moving`, and whose converter wrote nothing since a moment."""

    def sample(self, size: int, *, longest: int) -> list[Target]:
        """Return up to `size` discussions at random, of at most `longest` comments."""

    def without_discussion(self, sample: int) -> dict[str, list[str]]:
        """Return what is discussed, as "app.model:pk", where the discussion is gone and comments are there, by the collection
        of these: of a large one, a random sample of so many documents is read."""
