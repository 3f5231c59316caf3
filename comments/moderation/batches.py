"""Actions on many comments at once: count, hide, approve and restore comments with the same properties.

The request that changes comments works for a moment. If comments are left, a worker continues.
"""

from contextlib import suppress
from dataclasses import dataclass

from marginalia.comments import conf, terms
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentError, CommentNotFound
from marginalia.comments.moderation import lessons
from marginalia.comments.moderation.bans import Term, check_moderator, suggest
from marginalia.comments.notices import mails
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import links, selectors
from marginalia.comments.types import (
    Ban,
    Batch,
    Comment,
    HeldComment,
    Selected,
    Selection,
    Target,
    TermKind,
    Verdict,
)
from marginalia.tasks import URGENT, task, worker

NOTHING = Selection(comments=())
# The kinds of terms by which comments are compared, in addition to their texts.
SHARED = (TermKind.NETWORK, TermKind.ACCOUNT, TermKind.EMAIL, TermKind.LINK_DOMAIN)
# How long a request changes comments before it leaves the rest to a worker.
SECONDS = 2.0


def of_term(term: Term | Ban) -> Selection:
    """Return the comments that a ban of this term would refuse."""
    if term.kind is TermKind.NETWORK:
        return Selection(network=term.value)
    if term.kind is TermKind.PATTERN:
        return of_pattern(term.value)
    return Selection(terms=(term.kind.term(term.value),))


def of_pattern(typed: str) -> Selection:
    """Return the comments that contain all of these words. A word that ends with * stands for its beginning."""
    pattern = terms.Pattern.parse(typed)
    return Selection(
        terms=tuple(map(TermKind.WORD.term, pattern.words)), prefixes=tuple(map(TermKind.WORD.term, pattern.prefixes))
    )


def of_beginnings(typed: str) -> Selection:
    """Return the comments that, for each of these words, contain a word that begins with it."""
    pattern = terms.Pattern.parse(typed)
    beginnings = tuple(map(TermKind.WORD.term, (*pattern.words, *pattern.prefixes)))
    return Selection(prefixes=beginnings) if beginnings else NOTHING


def of_name(typed: str) -> Selection:
    """Return the comments by authors whose name begins like this."""
    name = terms.fold_name(typed)
    return Selection(prefixes=(TermKind.NAME.term(name),)) if name else NOTHING


def count(selection: Selection) -> Selected:
    """Return how many public and pending comments a selection contains."""
    return backend().count_selected(selection)


def hide(sender: Sender, selection: Selection, *, verdict: Verdict = Verdict.SPAM, what: str = "") -> Batch:
    """Hide the public comments of a selection, and give the pending ones a verdict. Return the batch.

    Args:
        sender: The sender of the request.
        selection: The comments.
        verdict: The verdict on pending comments, SPAM or REJECTED.
        what: The term by which the comments were selected, or "".

    Raises:
        PermissionDenied: The sender is not a moderator.
    """
    batch = backend().start_batch(selection, verdict, what=what, by=check_moderator(sender))
    return _work(batch)


def approve(sender: Sender, selection: Selection) -> Batch:
    """Publish the pending comments of a selection. Return the batch.

    Raises:
        PermissionDenied: The sender is not a moderator.
    """
    by = check_moderator(sender)
    return _work(backend().start_batch(selection, Verdict.APPROVED, by=by, origin=links.origin(sender.request)))


def undo(sender: Sender, batch_id: str) -> Batch | None:
    """Restore the comments that are still as a batch left them. Return the batch, or None if there is no such batch.

    If the batch has approved comments, they are hidden.

    Raises:
        PermissionDenied: The sender is not a moderator.
    """
    batch = backend().undo_batch(batch_id, by=check_moderator(sender))
    return _work(batch) if batch and not batch.is_finished else batch


def get(batch_id: str) -> Batch | None:
    """Return a batch, or None if there is no such batch."""
    return backend().batch(batch_id)


def find(*, limit: int, after: str = "") -> list[Batch]:
    """Return batches, newest first. `after` is the id of the last batch on the previous page."""
    return backend().batches(limit=limit, after=after)


def _work(batch: Batch) -> Batch:
    worked_on = backend().work_on_batch(batch.id, seconds=SECONDS, report=_follow_up) or batch
    if not worked_on.is_finished:
        key = f"batch:{batch.id}:{worked_on.state}"
        work.using(key=key, backend=conf.get("TASKS")).enqueue(batch=batch.id)
    return worked_on


@task(stored_as="comments.batch", priority=URGENT)
def work(batch: str) -> None:
    """Continue a batch until it is finished."""
    backend().work_on_batch(batch, report=_follow_up)


@worker.regularly
def resume() -> None:
    """Continue the batches whose process died. A worker calls this every minute."""
    backend().tidy_batches(report=_follow_up)


def _follow_up(places: list[lessons.Place], verdict: Verdict, origin: str) -> None:
    """Let the spam rules learn from decisions, and notify people who subscribed to replies about approved comments."""
    lessons.teach(places, verdict)
    for target, slug in places if verdict is Verdict.APPROVED else ():
        with suppress(CommentError):  # the discussion has been deleted or damaged since
            mails.notify_subscribers(selectors.get(target, slug), origin)


@dataclass(frozen=True)
class Likeness:
    """What other comments have in common with a comment.

    Attributes:
        term: The common term, or None for a similar text.
        counted: How many comments have this in common.
    """

    term: Term | None
    selection: Selection
    counted: Selected


def likenesses(comment: Comment | HeldComment) -> list[Likeness]:
    """Return what other public or pending comments have in common with a comment, similar texts first."""
    found = []
    if alike := shingles(comment):
        found.append(Likeness(None, alike, count(alike)))
    shared = [term for term in suggest(comment) if term.kind in SHARED]
    found += [Likeness(term, of_term(term), count(of_term(term))) for term in shared]
    return found


def shingles(comment: Comment | HeldComment) -> Selection | None:
    """Return the comments with a similar text, or None if the text has no words."""
    own = terms.of_comment(name="", account="", email="", source=comment.source, html="")
    alike = tuple(term for term in own if term.startswith(f"{TermKind.SHINGLE}:"))
    return Selection(alike=alike) if alike else None


def get_comment(target: Target, slug: str) -> Comment | HeldComment:
    """Return a published or queued comment.

    Raises:
        CommentNotFound: There is no such comment.
    """
    try:
        return selectors.get(target, slug)
    except CommentNotFound:
        if held := selectors.find_held(target, slug, verdict=None):
            return held
        raise
