"""The moderation queue: who looks at which comment, what was decided, how much waits.

Looking takes nothing: a moderator sees what waits and no other has taken. Deciding takes the comments that come next under a
lease, one findAndModify each, so that moderators at work see different ones. A lease ends by itself; a decision needs none,
because approving and rejecting are safe however many do it.
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
from marginalia.comments.types import Comment, Held, HeldQuery, Verdict
from marginalia.mongo.clock import now

LEASE = timedelta(minutes=10)
# Beyond this a number says "more than".
COUNTED = 1000
EARLIER = 10
ACTIONS = ("approve", "reject", "spam", "wait")
_VERDICTS = {"reject": Verdict.REJECTED, "spam": Verdict.SPAM, "wait": Verdict.WAITING}


@dataclass(frozen=True)
class Case:
    """A pending comment with what a moderator needs to judge it. `obj` is None where readers do not see it; `reasons`: why it
    waits, in words; `earlier`: how many public comments the author's account has, up to EARLIER."""

    held: Held
    obj: Model | None
    parent: Comment | None
    earlier: int
    reasons: list[str]


@dataclass(frozen=True)
class Decided:
    """What came of decisions: the ids that were decided, (id, reason) of those that were not, what was published, and what was
    taken off its page because its publication was undone."""

    done: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    published: tuple[Comment, ...] = ()
    removed: tuple[Comment, ...] = ()


def open_to(by: str, size: int) -> tuple[Held, ...]:
    """Return up to `size` waiting comments that no moderator but `by` has taken, the longest waiting first."""
    return backend().held(open_to=by, limit=size)


def next_after(held_id: str, by: str, verdict: Verdict) -> str:
    """Return the id of the comment that the moderator `by` sees below `held_id` among those of a verdict, "" without one."""
    wanted: HeldQuery = {"open_to": by} if verdict is Verdict.WAITING else {"verdict": verdict}
    try:
        following = backend().held(**wanted | {"after": held_id, "limit": 1})
    except CommentNotFound:
        return ""
    return following[0].id if following else ""


def taken(by: str, size: int) -> tuple[Held, ...]:
    """Return up to `size` waiting comments that the moderator `by` has taken, the longest waiting first."""
    return backend().held(taken_by=by, limit=size)


def take(by: str, size: int) -> tuple[Held, ...]:
    """Lease those that waited longest to the moderator `by`, up to `size` with the ones taken before; return them all."""
    mine = list(taken(by, size))
    while len(mine) < size and (found := backend().take(by, now() + LEASE)):
        mine.append(found)
    return tuple(mine)


def release(by: str) -> int:
    """Give back all that a moderator has taken; return how many comments that were."""
    return backend().release(by)


def cases(taken: Iterable[Held]) -> list[Case]:
    """Return pending comments with their context."""
    taken = list(taken)
    objects = targets.resolve_many({held.target for held in taken})
    return [
        Case(held, objects.get(held.target), _parent(held), _earlier(held), reasons.sentences(held)) for held in taken
    ]


def decide(action: str, ids: Iterable[str], by: str, origin: str = "", *, seen: Verdict | None = None) -> Decided:
    """Do one of ACTIONS to each; what cannot be done does not keep the others from it. An id may be followed by the `rev` that
    the moderator saw, "ID.REV": another one is not approved; nor is what was `seen` under another verdict than it has now.

    `origin`, scheme and host, is for the links of notices about what is published; without it none are sent.
    """
    done = []
    failed = []
    changed = list[Comment]()
    for chosen in ids:
        held_id, _dot, rev = chosen.partition(".")
        try:
            if action == "approve" and seen:
                _check_seen(held_id, seen)
            comment = _decide(action, held_id, by, origin, forms.revision(rev))
        except CommentNotFound:
            failed.append((held_id, _("It does not wait any more.")))
        except CommentError as error:
            failed.append((held_id, str(error.sentence)))
        else:
            done.append(held_id)
            changed += [comment] if comment else []
    published = tuple(comment for comment in changed if not comment.removed)
    return Decided(tuple(done), tuple(failed), published, tuple(comment for comment in changed if comment.removed))


def _decide(action: str, held_id: str, by: str, origin: str, rev: int) -> Comment | None:
    """Decide, and return the comment that is public now, or was until then."""
    if action == "approve":
        comment = approve(held_id, by=by, rev=rev)
        if comment.removed:
            raise CommentNotFound(held_id)
        if origin:
            mails.published(comment, origin)
        return comment
    held = reject(held_id, by=by, verdict=_VERDICTS[action])
    if held.verdict is Verdict.APPROVED and action == "wait" and held.decided_by == by:
        # Undone: what this moderator published goes, and can be restored from its own page.
        return services.remove(held.target, held.slug, by=by)
    if held.verdict is not _VERDICTS[action]:
        raise CommentNotFound(held_id)
    return None


def _check_seen(held_id: str, seen: Verdict) -> None:
    """Raise CommentNotFound for what another moderator decided against since it was shown."""
    if selectors.get_held(held_id).verdict not in (seen, Verdict.APPROVED):
        raise CommentNotFound(held_id)


def approve(held_id: str, *, by: str = "", rev: int = 0) -> Comment:
    """Publish a queued comment in its original place, once; `rev` is the one that the moderator saw, 0 for any. Raises
    CommentNotFound, HeldChanged, TargetNotFound."""
    return backend().approve(held_id, by, rev)


def reject(held_id: str, *, by: str = "", verdict: Verdict = Verdict.REJECTED) -> Held:
    """Decide against a queued comment (REJECTED, SPAM), or let it wait again (WAITING). Raises CommentNotFound."""
    return backend().reject(held_id, by, verdict)


def counts() -> dict[str, int]:
    """Return how many comments wait, are spam, were rejected, are flagged: each counted up to COUNTED, along an index."""
    states = (Verdict.WAITING, Verdict.SPAM, Verdict.REJECTED)
    counted = {state.value: backend().count_held(state, COUNTED) for state in states}
    return {**counted, "flagged": flags.count()}


def _parent(held: Held) -> Comment | None:
    try:
        return selectors.get(held.target, held.parent) if held.parent else None
    except CommentNotFound:
        return None


def _earlier(held: Held) -> int:
    """Return how many public comments the account has, up to EARLIER; 0 for an author without one."""
    return len(selectors.by_author(held.author.id, limit=EARLIER)) if held.author.id else 0
