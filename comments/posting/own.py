"""What authors may still do with their comments, by account or by the browser's signed cookie."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString

from marginalia.comments import conf
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.posting.forms import user_key
from marginalia.comments.posting.tokens import Own
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, Held, Target
from marginalia.mongo.clock import now

# How many of an account's newest comments are looked through for those that it may still change.
LOOKED_THROUGH = 10
# How often authors may change one comment: every text that is replaced is kept.
MOST_CHANGES = 20


@dataclass(frozen=True)
class Mine:
    """An author's own comment: waiting, or public and still to be changed, but where that is `final`: to be deleted."""

    comment: Comment | Held
    waits: bool
    final: bool = False

    @property
    def html(self) -> SafeString:
        """Its text, cleaned when it was written."""
        return SafeString(self.comment.html)

    @property
    def edit_url(self) -> str:
        """The URL to change it at, "" after EDIT_MINUTES, where it is final, or where it was done very often."""
        may_edit = in_time(self.comment) and may_revise(self.comment.rev) and not self.final
        return self._url("comments-edit") if may_edit else ""

    @property
    def delete_url(self) -> str:
        """The URL to delete it at, "" after EDIT_MINUTES."""
        return self._url("comments-delete") if in_time(self.comment) else ""

    @property
    def anchor(self) -> str:
        """The element that shows it."""
        return f"c-{self.comment.slug.rpartition('/')[2]}"

    @property
    def waiting_anchor(self) -> str:
        """The element that shows it to its author while it waits."""
        return waiting_anchor(self.comment.slug)

    @property
    def answered_anchor(self) -> str:
        """The element of the comment that it answers, "" for none."""
        return f"c-{self.comment.parent.rpartition('/')[2]}" if self.comment.parent else ""

    def _url(self, name: str) -> str:
        return reverse(name, args=[self.comment.target.label, self.comment.target.pk, self.comment.slug])


def waiting_anchor(slug: str) -> str:
    """Return the element that shows a comment to its author while it waits."""
    return f"w-{slug.rpartition('/')[2]}"


def in_discussion(own: Iterable[Own], target: Target, user: Any, *, final: bool = False) -> list[Mine]:
    """Return the comments in one discussion, by the account or from this browser, that wait or can still be changed; `final`:
    of those that are public not the text."""
    found: dict[str, Mine] = {}
    if key := user_key(user):
        found = {held.slug: Mine(held, waits=True) for held in selectors.held(target=target, author_id=key)}
        written = selectors.by_author(key, limit=LOOKED_THROUGH)
        found |= {
            one.slug: Mine(one, waits=False, final=final) for one in written if one.target == target and in_time(one)
        }
    for entry in own:
        if entry.target != target or entry.slug in found:
            continue
        if waiting := selectors.held_at(target, entry.slug):
            found[entry.slug] = Mine(waiting, waits=True)
            continue
        try:
            comment = selectors.get(target, entry.slug)
        except CommentNotFound:
            continue
        if in_time(comment):
            found[entry.slug] = Mine(comment, waits=False, final=final)
    return list(found.values())


def waiting(target: Target, slug: str, own: Iterable[Own], user: Any) -> Held | None:
    """Return the comment that waits under a slug, to its author alone."""
    held = selectors.held_at(target, slug)
    return held if held and _wrote(held, own, user) else None


def may_change(comment: Comment | Held, own: Iterable[Own], user: Any) -> bool:
    """Return whether the user wrote the comment, and just now."""
    return in_time(comment) and _wrote(comment, own, user)


def _wrote(comment: Comment | Held, own: Iterable[Own], user: Any) -> bool:
    key = user_key(user)
    by_account = bool(key) and comment.author.id == key
    return by_account or any(entry.target == comment.target and entry.slug == comment.slug for entry in own)


def may_revise(rev: int) -> bool:
    """Return whether authors may change that revision of a comment once more."""
    return rev <= MOST_CHANGES


def in_time(comment: Comment | Held) -> bool:
    """Return whether a comment can still be changed by its author."""
    lost = comment.settled if isinstance(comment, Held) else comment.removed
    return not lost and now() - comment.posted < timedelta(minutes=conf.get("EDIT_MINUTES"))


def done_url(target: Target, slug: str) -> str:
    """Return the page on which an author is told what became of a comment."""
    return reverse("comments-comment-done", args=[target.label, target.pk, slug])
