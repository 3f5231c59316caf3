"""What authors may still do with their comments, by account or by the browser's signed cookie."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString

from comments import conf, selectors
from comments.errors import CommentNotFound
from comments.forms import user_key
from comments.tokens import Own
from comments.types import Comment, Held, Target
from mongo.connection import now


@dataclass(frozen=True)
class Mine:
    """One of a browser's comments: waiting, or public and still to be changed."""

    comment: Comment | Held
    waits: bool

    @property
    def html(self) -> SafeString:
        """Its text, cleaned when it was written."""
        return SafeString(self.comment.html)

    @property
    def edit_url(self) -> str:
        """The address to change it at, "" where it only waits."""
        return "" if self.waits else self._url("comments-edit")

    @property
    def delete_url(self) -> str:
        """The address to delete it at, "" where it only waits."""
        return "" if self.waits else self._url("comments-delete")

    @property
    def anchor(self) -> str:
        """The element that shows it."""
        return f"c-{self.comment.slug.rpartition('/')[2]}"

    def _url(self, name: str) -> str:
        return reverse(name, args=[self.comment.target.label, self.comment.target.pk, self.comment.slug])


def of_browser(own: Iterable[Own], target: Target, user: Any) -> list[Mine]:
    """Return the browser's comments in one discussion that wait or can still be changed."""
    found = []
    for entry in own:
        if entry.target != target:
            continue
        if waiting := selectors.held_by_token(target, entry.nonce):
            found.append(Mine(waiting, waits=True))
            continue
        try:
            comment = selectors.get(target, entry.slug)
        except CommentNotFound:
            continue
        if in_time(comment):
            found.append(Mine(comment, waits=False))
    return found


def may_change(comment: Comment, own: Iterable[Own], user: Any) -> bool:
    """Return whether whoever asks wrote the comment, and just now."""
    key = user_key(user)
    by_account = bool(key) and comment.author.id == key
    by_browser = any(entry.target == comment.target and entry.slug == comment.slug for entry in own)
    return in_time(comment) and (by_account or by_browser)


def in_time(comment: Comment) -> bool:
    """Return whether a comment can still be changed by its author."""
    return not comment.removed and now() - comment.posted < timedelta(minutes=conf.get("EDIT_MINUTES"))


def done_url(target: Target, slug: str) -> str:
    """Return the page on which an author is told what became of a comment."""
    return reverse("comments-comment-done", args=[target.label, target.pk, slug])
