"""What authors can see and do with their own comments.

An author is identified by an account, or by the browser's signed cookie.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString

from marginalia.comments import conf
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.posting.forms import user_key
from marginalia.comments.posting.tokens import SentComment
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, Target
from marginalia.mongo.clock import now

# To find the comments that an account can still change, only this many of its newest comments are read.
MAX_SEARCHED = 10
# How many times the author of a comment can change it. There is a limit, because every previous version is stored.
MAX_CHANGES = 20


@dataclass(frozen=True)
class OwnComment:
    """A comment that the current user wrote, and that is waiting for a moderator or that the user can still change.

    Attributes:
        waits: Whether the comment is waiting for a moderator.
        final: Whether the user can only delete the comment, not edit it.
    """

    comment: Comment | HeldComment
    waits: bool
    final: bool = False

    @property
    def html(self) -> SafeString:
        """Return the HTML of the comment, which was sanitized when it was written."""
        return SafeString(self.comment.html)

    @property
    def edit_url(self) -> str:
        """Return the URL of the edit form.

        The URL is "" after EDIT_MINUTES, after MAX_CHANGES changes, or if the comment is final.
        """
        may_edit = is_recent(self.comment) and may_revise(self.comment.rev) and not self.final
        return self._url("comments-edit") if may_edit else ""

    @property
    def delete_url(self) -> str:
        """Return the URL for deleting the comment, or "" after EDIT_MINUTES."""
        return self._url("comments-delete") if is_recent(self.comment) else ""

    @property
    def anchor(self) -> str:
        """Return the id of the HTML element that shows the comment."""
        return f"c-{self.comment.slug.rpartition('/')[2]}"

    @property
    def waiting_anchor(self) -> str:
        """Return the id of the HTML element that shows the comment to its author while it is waiting."""
        return waiting_anchor(self.comment.slug)

    @property
    def answered_anchor(self) -> str:
        """Return the id of the HTML element that shows the parent comment, or "" if there is no parent."""
        return f"c-{self.comment.parent.rpartition('/')[2]}" if self.comment.parent else ""

    def _url(self, name: str) -> str:
        return reverse(name, args=[self.comment.target.label, self.comment.target.pk, self.comment.slug])


def waiting_anchor(slug: str) -> str:
    """Return the id of the HTML element that shows a comment to its author while it is waiting."""
    return f"w-{slug.rpartition('/')[2]}"


def list_own(sent: Iterable[SentComment], target: Target, user: Any, *, final: bool = False) -> list[OwnComment]:
    """Return a user's comments in one discussion, if they are waiting for a moderator or can still be changed.

    Args:
        sent: The comments that the browser's cookie lists.
        target: The target of the discussion.
        user: The user. Comments by the user's account are included even if they are not in the cookie.
        final: Whether the user can only delete public comments, not edit them.
    """
    by_slug: dict[str, OwnComment] = {}
    if key := user_key(user):
        by_slug = {held.slug: OwnComment(held, waits=True) for held in selectors.held(target=target, author_id=key)}
        for comment in selectors.by_author(key, limit=MAX_SEARCHED):
            if comment.target == target and is_recent(comment):
                by_slug[comment.slug] = OwnComment(comment, waits=False, final=final)
    for entry in sent:
        if entry.target != target or entry.slug in by_slug:
            continue
        if held := selectors.find_held(target, entry.slug):
            by_slug[entry.slug] = OwnComment(held, waits=True)
            continue
        try:
            comment = selectors.get(target, entry.slug)
        except CommentNotFound:
            continue
        if is_recent(comment):
            by_slug[entry.slug] = OwnComment(comment, waits=False, final=final)
    return list(by_slug.values())


def find_held(target: Target, slug: str, sent: Iterable[SentComment], user: Any) -> HeldComment | None:
    """Return the pending comment `slug`, or None if it does not exist or the user didn't write it."""
    held = selectors.find_held(target, slug)
    return held if held and _wrote(held, sent, user) else None


def may_change(comment: Comment | HeldComment, sent: Iterable[SentComment], user: Any) -> bool:
    """Return whether the user wrote the comment, and can still change it."""
    return is_recent(comment) and _wrote(comment, sent, user)


def _wrote(comment: Comment | HeldComment, sent: Iterable[SentComment], user: Any) -> bool:
    key = user_key(user)
    by_account = bool(key) and comment.author.id == key
    return by_account or any(entry.target == comment.target and entry.slug == comment.slug for entry in sent)


def may_revise(rev: int) -> bool:
    """Return whether the author of a comment can change it again when its revision is `rev`."""
    return rev <= MAX_CHANGES


def is_recent(comment: Comment | HeldComment) -> bool:
    """Return whether a comment can still be changed by its author.

    A comment can be changed for EDIT_MINUTES, unless it has been removed. A comment in the queue can't be changed once
    a moderator has begun to approve it.
    """
    is_locked = comment.settled if isinstance(comment, HeldComment) else comment.removed
    return not is_locked and now() - comment.posted < timedelta(minutes=conf.get("EDIT_MINUTES"))


def done_url(target: Target, slug: str) -> str:
    """Return the URL of the page that shows authors the comment that they just sent."""
    return reverse("comments-comment-done", args=[target.label, target.pk, slug])
