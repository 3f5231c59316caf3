"""The moderation queue: leases of moderators, decisions, counts.

Looking at the queue leases nothing: a moderator sees the waiting comments that no other moderator has leased. A
decision leases the next comments, one findAndModify each, so that moderators who work at the same time see
different ones.
A lease ends by itself. A decision needs no lease, because approving and rejecting are safe however many moderators
do it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Model
from django.utils.translation import gettext as _

from marginalia.comments import targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentError, CommentNotFound
from marginalia.comments.notices import mails, reasons
from marginalia.comments.posting import flags, forms, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, HeldQuery, Verdict
from marginalia.mongo.clock import now

LEASE = timedelta(minutes=10)
# Counts above this are shown as "more than".
MAX_COUNTED = 1000
MAX_EARLIER = 10
ACTIONS = ("approve", "reject", "spam", "wait")
_VERDICTS = {"reject": Verdict.REJECTED, "spam": Verdict.SPAM, "wait": Verdict.WAITING}


@dataclass(frozen=True)
class Case:
    """A pending comment with the context that a moderator needs.

    `obj` is None if readers cannot see it. `reasons` are sentences. `earlier` is the number of public comments of
    the author's account, at most MAX_EARLIER.
    """

    held: HeldComment
    obj: Model | None
    parent: Comment | None
    earlier: int
    reasons: list[str]


@dataclass(frozen=True)
class Decisions:
    """The result of decisions.

    `done` contains the decided ids, `failed` pairs (id, reason). `published` contains the published comments, and
    `removed` those whose publication was undone.
    """

    done: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    published: tuple[Comment, ...] = ()
    removed: tuple[Comment, ...] = ()


def available_to(by: str, size: int) -> tuple[HeldComment, ...]:
    """Return up to `size` waiting comments that no moderator but `by` has leased, the longest waiting first."""
    return backend().held(available_to=by, limit=size)


def next_after(held_id: str, by: str, verdict: Verdict) -> str:
    """Return the id of the comment that the moderator `by` sees after `held_id` among those with `verdict`.

    Return "" if there is none.
    """
    query: HeldQuery = {"available_to": by} if verdict is Verdict.WAITING else {"verdict": verdict}
    try:
        following = backend().held(**query | {"after": held_id, "limit": 1})
    except CommentNotFound:
        return ""
    return following[0].id if following else ""


def leased_by(by: str, size: int) -> tuple[HeldComment, ...]:
    """Return up to `size` waiting comments that the moderator `by` has leased, the longest waiting first."""
    return backend().held(leased_by=by, limit=size)


def lease(by: str, size: int) -> tuple[HeldComment, ...]:
    """Lease the longest waiting comments to the moderator `by`, until `by` has `size` leases.

    Return all comments leased to `by`.
    """
    leased = list(leased_by(by, size))
    while len(leased) < size and (held := backend().lease(by, now() + LEASE)):
        leased.append(held)
    return tuple(leased)


def release(by: str) -> int:
    """End all leases of a moderator. Return the number of comments."""
    return backend().release(by)


def cases(pending: Iterable[HeldComment]) -> list[Case]:
    """Return pending comments with their context."""
    pending = list(pending)
    objects = targets.resolve_many({held.target for held in pending})
    return [
        Case(held, objects.get(held.target), _parent(held), _earlier(held), reasons.sentences(held)) for held in pending
    ]


def decide(action: str, ids: Iterable[str], by: str, origin: str = "", *, seen: Verdict | None = None) -> Decisions:
    """Apply one of ACTIONS to each id. A failure of one does not stop the others.

    An id can include the `rev` that the moderator saw, "ID.REV". Another revision is not approved. Neither is a
    comment that was `seen` with another verdict than it has now.
    `origin`, scheme and host, is for links in notices about published comments. Without it, no notices are sent.
    """
    done = []
    failed = []
    changed = list[Comment]()
    for choice in ids:
        held_id, _dot, rev = choice.partition(".")
        try:
            if action == "approve" and seen:
                _check_seen(held_id, seen)
            comment = _decide(action, held_id, by, origin, forms.parse_revision(rev))
        except CommentNotFound:
            failed.append((held_id, _("It does not wait any more.")))
        except CommentError as error:
            failed.append((held_id, str(error.sentence)))
        else:
            done.append(held_id)
            changed += [comment] if comment else []
    published = tuple(comment for comment in changed if not comment.removed)
    return Decisions(tuple(done), tuple(failed), published, tuple(comment for comment in changed if comment.removed))


def _decide(action: str, held_id: str, by: str, origin: str, rev: int) -> Comment | None:
    """Decide about one comment. Return the comment that is public now, or was until now."""
    if action == "approve":
        comment = approve(held_id, by=by, rev=rev)
        if comment.removed:
            raise CommentNotFound(held_id)
        if origin:
            mails.notify_subscribers(comment, origin)
        return comment
    held = reject(held_id, by=by, verdict=_VERDICTS[action])
    if held.verdict is Verdict.APPROVED and action == "wait" and held.decided_by == by:
        # Undo: remove the comment that this moderator published. It can be restored on its own page.
        return services.remove(held.target, held.slug, by=by)
    if held.verdict is not _VERDICTS[action]:
        raise CommentNotFound(held_id)
    return None


def _check_seen(held_id: str, seen: Verdict) -> None:
    """Raise CommentNotFound if another moderator has decided against the comment since it was shown."""
    if selectors.get_held(held_id).verdict not in (seen, Verdict.APPROVED):
        raise CommentNotFound(held_id)


def approve(held_id: str, *, by: str = "", rev: int = 0) -> Comment:
    """Publish a queued comment once, in its original place. `rev` is the revision that the moderator saw, 0 for any.

    Raises CommentNotFound, HeldChanged, TargetNotFound.
    """
    return backend().approve(held_id, by, rev)


def reject(held_id: str, *, by: str = "", verdict: Verdict = Verdict.REJECTED) -> HeldComment:
    """Decide against a queued comment (REJECTED, SPAM), or return it to the queue (WAITING). Raises CommentNotFound."""
    return backend().reject(held_id, by, verdict)


def counts() -> dict[str, int]:
    """Return how many comments wait, are spam, were rejected and are flagged.

    Each is counted along an index, up to MAX_COUNTED.
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
    """Return the number of public comments of the author's account, up to MAX_EARLIER. Return 0 without an account."""
    return len(selectors.by_author(held.author.id, limit=MAX_EARLIER)) if held.author.id else 0
