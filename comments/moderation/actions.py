"""Moderator actions, used by the admin, the API, and the page linked from emails to moderators.

Each action checks the permission and makes the change. Some actions also notify subscribers and send signals.
"""

from collections.abc import Iterable
from typing import Unpack

from marginalia.comments import signals
from marginalia.comments.backends import backend
from marginalia.comments.moderation import lessons, pending
from marginalia.comments.moderation.bans import check_moderator
from marginalia.comments.moderation.pending import Decisions
from marginalia.comments.notices import mails
from marginalia.comments.posting import flags, services
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import links, selectors
from marginalia.comments.types import Comment, RestrictionChanges, Target, Verdict


def decide(sender: Sender, action: str, ids: Iterable[str], *, seen: Verdict) -> Decisions:
    """Apply one of `pending.ACTIONS` to comments in the queue. For the arguments, see `pending.decide`.

    Raises:
        PermissionDenied: The sender is not a moderator.
    """
    by = check_moderator(sender)
    decisions = pending.decide(action, ids, by, links.origin(sender.request), seen=seen)
    for comment in decisions.published:
        _send(sender, comment, "approval")
    for comment in decisions.removed:
        _send(sender, comment, "removal")
    return decisions


def approve(sender: Sender, held_id: str, *, rev: int) -> Comment:
    """Publish a queued comment. `rev` is the revision that the moderator saw, or 0 for any revision.

    Raises:
        PermissionDenied: The sender is not a moderator.
        CommentNotFound: The queue has no such comment, the comment was withdrawn, or it was published and then hidden.
        HeldChanged: The stored revision differs from `rev`.
        TargetNotFound: The target does not exist.
    """
    comment = pending.approve(held_id, by=check_moderator(sender), rev=rev)
    mails.notify_subscribers(comment, links.origin(sender.request))
    _send(sender, comment, "approval")
    return comment


def restore(sender: Sender, target: Target, slug: str, *, rev: int | None = None) -> Comment:
    """Restore a removed comment, and let the spam rules forget the decision.

    `rev` is the revision that the moderator saw, or None for any revision.

    Raises:
        PermissionDenied: The sender is not a moderator.
        CommentError: The comment can't be restored.
    """
    comment = services.restore(target, slug, rev=rev, by=check_moderator(sender))
    lessons.teach([(target, slug)], Verdict.WAITING)
    flags.clear(target, slug)
    return comment


def edit(sender: Sender, target: Target, slug: str, *, text: str, rev: int, nonce: str) -> Comment:
    """Replace the text of a public comment. `nonce` identifies the form.

    Raises:
        PermissionDenied: The sender is not a moderator.
        CommentError: The comment can't be changed.
    """
    comment = services.edit(target, slug, source=text, rev=rev, token=nonce, by=check_moderator(sender))
    flags.clear(target, slug)
    return comment


def mark_spam(sender: Sender, target: Target, slug: str, *, rev: int | None = None) -> Comment:
    """Remove a public comment as spam, from which the spam rules learn. The arguments are the same as for `restore`.

    Raises:
        PermissionDenied: The sender is not a moderator.
        CommentError: The comment can't be removed.
    """
    by = check_moderator(sender)
    comment = selectors.get(target, slug)
    removed = services.remove(target, slug, rev=rev, by=by)
    if not comment.removed:
        lessons.teach([(target, slug)], Verdict.SPAM)
        backend().mark_spam(target, slug)
    flags.clear(target, slug)
    _send(sender, removed, "removal")
    return removed


def lock_thread(sender: Sender, target: Target, slug: str, *, locked: bool) -> None:
    """Lock or unlock the thread of a comment.

    Raises:
        PermissionDenied: The sender is not a moderator.
        CommentError: The comment doesn't exist, or too many threads are locked.
    """
    check_moderator(sender)
    services.lock_thread(target, slug, locked=locked)


def change_discussion(
    sender: Sender, target: Target, *, is_open: bool | None = None, **changes: Unpack[RestrictionChanges]
) -> None:
    """Open or close a discussion, and change its restrictions (`types.Restrictions`).

    Args:
        sender: The sender of the request.
        target: The target of the discussion.
        is_open: Whether the discussion accepts comments. If it is None, this isn't changed.
        **changes: The restrictions to change.

    Raises:
        PermissionDenied: The sender is not a moderator.
        CommentNotFound: The comment to pin doesn't exist.
    """
    check_moderator(sender)
    if pinned := changes.get("pinned"):
        selectors.get(target, pinned)
    if is_open is not None:
        (services.open if is_open else services.close)(target)
    if changes:
        services.restrict(target, **changes)


def clear_flags(sender: Sender, target: Target, slug: str) -> None:
    """Delete the flags of a comment.

    Raises:
        PermissionDenied: The sender is not a moderator.
    """
    check_moderator(sender)
    flags.clear(target, slug)


def _send(sender: Sender, comment: Comment, flag: str) -> None:
    signals.comment_was_flagged.send(Comment, comment=comment, flag=flag, created=True, request=sender.request)
