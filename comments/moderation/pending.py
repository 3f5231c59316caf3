"""The moderation queue: leases, decisions and counts.

Viewing the queue doesn't lease any comments. A moderator sees the pending comments that no other moderator has leased.
When a moderator has made a decision, the next comments are leased to this moderator. Each lease is a single
findAndModify, so moderators who work at the same time see different comments.

A lease expires after the time LEASE. A decision doesn't require a lease, because it does no harm if several moderators
approve or reject the same comment at the same time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Model
from django.utils.translation import gettext as _

from marginalia.comments import targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentError, CommentNotFound, DecidedByOther
from marginalia.comments.moderation import lessons
from marginalia.comments.notices import mails, reasons
from marginalia.comments.posting import flags, forms, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, HeldQuery, Verdict
from marginalia.mongo.clock import now

LEASE = timedelta(minutes=10)
# Counting stops at this number. If there are more comments, the admin shows "more than" this number.
MAX_COUNTED = 1000
MAX_EARLIER = 10
ACTIONS = ("approve", "reject", "spam", "wait")
_VERDICTS = {"reject": Verdict.REJECTED, "spam": Verdict.SPAM, "wait": Verdict.WAITING}


@dataclass(frozen=True)
class Case:
    """A pending comment with the context that a moderator needs.

    Attributes:
        obj: The object of the discussion, or None if readers can't see it.
        reasons: The reasons why the comment is waiting, as sentences.
        earlier: The number of public comments by the author's account, but at most MAX_EARLIER.
    """

    held: HeldComment
    obj: Model | None
    parent: Comment | None
    earlier: int
    reasons: list[str]


@dataclass(frozen=True)
class Decisions:
    """The result of applying an action to several comments.

    Attributes:
        done: The ids of the comments that the action was applied to.
        failed: A pair (id, reason) for each comment to which the action could not be applied.
        published: The published comments.
        removed: The comments that were removed again, because the action undid their approval.
    """

    done: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    published: tuple[Comment, ...] = ()
    removed: tuple[Comment, ...] = ()


def available_to(by: str, size: int) -> tuple[HeldComment, ...]:
    """Return up to `size` pending comments, oldest first, except those that other moderators have leased.

    `by` is the primary key of the moderator.
    """
    return backend().held(available_to=by, limit=size)


def next_after(held_id: str, by: str, verdict: Verdict) -> str:
    """Return the id of the comment after `held_id` in the list of the moderator `by`, or "" if there is none."""
    query: HeldQuery = {"available_to": by} if verdict is Verdict.WAITING else {"verdict": verdict}
    try:
        following = backend().held(**query | {"after": held_id, "limit": 1})
    except CommentNotFound:
        return ""
    return following[0].id if following else ""


def leased_by(by: str, size: int) -> tuple[HeldComment, ...]:
    """Return up to `size` pending comments that the moderator `by` has leased, oldest first."""
    return backend().held(leased_by=by, limit=size)


def lease(by: str, size: int) -> tuple[HeldComment, ...]:
    """Lease the oldest pending comments to the moderator `by`, until `size` comments are leased to this moderator.

    Returns:
        All comments leased to `by`.
    """
    leased = list(leased_by(by, size))
    while len(leased) < size and (held := backend().lease(by, now() + LEASE)):
        leased.append(held)
    return tuple(leased)


def release(by: str) -> int:
    """End all leases of a moderator, and return how many were ended."""
    return backend().release(by)


def cases(pending: Iterable[HeldComment]) -> list[Case]:
    """Return a Case for each pending comment."""
    pending = list(pending)
    objects = targets.resolve_many({held.target for held in pending})
    return [
        Case(held, objects.get(held.target), _parent(held), _earlier(held), reasons.sentences(held)) for held in pending
    ]


def decide(action: str, ids: Iterable[str], by: str, origin: str = "", *, seen: Verdict | None = None) -> Decisions:
    """Apply one of ACTIONS to comments. If the action fails for one comment, continue with the others.

    Args:
        action: The name of the action.
        ids: The ids of the comments. An id can include the revision that the moderator saw, as "ID.REV". A comment is
            then approved only if it still has this revision.
        by: The primary key of the moderator.
        origin: The scheme and host for links in notices about published comments. If it is "", no notices are sent.
        seen: The verdict that the moderator saw. A comment is approved only if it still has this verdict. With WAITING,
            the action "wait" undoes the moderator's own decision, but not a later one of another moderator.
    """
    done = []
    failed = []
    changed = list[Comment]()
    for choice in ids:
        held_id, _dot, rev = choice.partition(".")
        try:
            if action == "approve" and seen:
                _check_seen(held_id, seen)
            if action == "wait" and seen is Verdict.WAITING:
                _check_own_decision(held_id, by)
            comment = _decide(action, held_id, by, origin, forms.parse_revision(rev))
        except CommentNotFound:
            failed.append((held_id, _("This comment is no longer pending.")))
        except CommentError as error:
            failed.append((held_id, str(error.sentence)))
        else:
            done.append(held_id)
            changed += [comment] if comment else []
    published = tuple(comment for comment in changed if not comment.removed)
    return Decisions(tuple(done), tuple(failed), published, tuple(comment for comment in changed if comment.removed))


def _decide(action: str, held_id: str, by: str, origin: str, rev: int) -> Comment | None:
    """Apply an action to one comment. Return the comment if it was published, or if its approval was undone."""
    if action == "approve":
        comment = approve(held_id, by=by, rev=rev)
        if origin:
            mails.notify_subscribers(comment, origin)
        return comment
    held = reject(held_id, by=by, verdict=_VERDICTS[action])
    if held.verdict is Verdict.APPROVED and action == "wait" and held.decided_by == by:
        # To undo an approval, hide the published comment. Moderators can restore it on its own page in the admin.
        removed = services.remove(held.target, held.slug, by=by)
        lessons.teach([(held.target, held.slug)], Verdict.WAITING)
        return removed
    if held.verdict is not _VERDICTS[action]:
        raise CommentNotFound(held_id)
    return None


def _check_seen(held_id: str, seen: Verdict) -> None:
    """Check that the verdict on a comment is still the one that the moderator saw, or that the comment is approved.

    Raises:
        CommentNotFound: Another moderator has since rejected the comment.
    """
    if selectors.get_held(held_id).verdict not in (seen, Verdict.APPROVED):
        raise CommentNotFound(held_id)


def _check_own_decision(held_id: str, by: str) -> None:
    """Check that the last decision about a comment was made by the moderator `by`.

    Raises:
        DecidedByOther: Another moderator has decided since.
    """
    held = selectors.get_held(held_id)
    if held.verdict is not Verdict.WAITING and held.decided_by != by:
        raise DecidedByOther(held_id)


def approve(held_id: str, *, by: str = "", rev: int = 0) -> Comment:
    """Publish a queued comment with the number and time that it got when it was held.

    Args:
        held_id: The id of the comment in the queue.
        by: The primary key of the moderator, or "".
        rev: The revision that the moderator saw, or 0 for any revision.

    Raises:
        CommentNotFound: The queue has no such comment, the comment was withdrawn, or it was published and then hidden.
        HeldChanged: The stored revision differs from `rev`.
        TargetNotFound: The target does not exist.
    """
    comment = backend().approve(held_id, by, rev)
    if comment.removed:
        raise CommentNotFound(held_id)
    if by:
        lessons.teach([(comment.target, comment.slug)], Verdict.APPROVED)
    return comment


def reject(held_id: str, *, by: str = "", verdict: Verdict = Verdict.REJECTED) -> HeldComment:
    """Reject a queued comment (REJECTED or SPAM), or return it to the queue (WAITING).

    Raises:
        CommentNotFound: The queue has no such comment.
    """
    held = backend().reject(held_id, by, verdict)
    if by and held.verdict is verdict:
        lessons.teach([(held.target, held.slug)], verdict)
    return held


def count(limit: int) -> int:
    """Return the number of pending comments. Counting uses an index, and stops at `limit`."""
    return backend().count_held(Verdict.WAITING, limit)


def counts() -> dict[str, int]:
    """Return the number of comments in each group: waiting, spam, rejected and flagged.

    The number of flagged comments is an estimate. The other counts use an index, and stop at MAX_COUNTED.
    """
    states = (Verdict.WAITING, Verdict.SPAM, Verdict.REJECTED)
    counted = {state.value: backend().count_held(state, MAX_COUNTED) for state in states}
    return {**counted, "flagged": flags.count()}


def _parent(held: HeldComment) -> Comment | None:
    try:
        return selectors.get(held.target, held.parent) if held.parent else None
    except CommentNotFound:
        return None


def _earlier(held: HeldComment) -> int:
    """Return how many public comments the author's account has, at most MAX_EARLIER, or 0 if there is no account."""
    return len(selectors.by_author(held.author.id, limit=MAX_EARLIER)) if held.author.id else 0
