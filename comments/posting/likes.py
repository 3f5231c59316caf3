"""Likes, with which readers mark good comments. Each reader is counted once per comment.

A reader is identified by an account, or by the random id in a signed cookie of the browser. The functions identify
readers by strings of the form "user:KEY" or "guest:ID".
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_lazy as _

from marginalia.comments import signals, terms
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.moderators import is_moderator
from marginalia.comments.posting import bans, ip_hash, policy, spam, tokens
from marginalia.comments.posting.forms import user_key
from marginalia.comments.posting.services import Refused, Sender
from marginalia.comments.types import Comment, Target, TermKind


def reader(user: Any, signed_guest: str) -> str:
    """Return the key of a reader: of the account or, without one, of the guest. It is "" for a guest without an id."""
    if key := user_key(user):
        return f"user:{key}"
    guest = tokens.read_guest(signed_guest)
    return f"guest:{guest}" if guest else ""


def can_be_liked(comment: Comment, obj: Model) -> bool:
    """Return whether readers of an object can like one of its comments."""
    return not comment.removed and policy.policy_for(obj).likes


def set_like(sender: Sender, obj: Model, comment: Comment, who: str, *, liked: bool) -> None:
    """Like a comment, or take the like back. Repeating this changes nothing.

    Args:
        sender: The sender of the request.
        obj: The object of the discussion.
        comment: The comment.
        who: The key of the reader.
        liked: False to take the like back.

    Raises:
        CommentNotFound: The comment was removed.
        Refused: The sender can't like comments on this object, is banned, or has reached the rate limit.
    """
    if comment.removed:
        raise CommentNotFound(comment.slug)
    _check(sender, obj)
    likes = backend().likes
    change = likes.add if liked else likes.remove
    if change(comment.target, comment.slug, who):
        signals.comment_was_liked.send(Comment, comment=comment, liked=liked, request=sender.request)


def _check(sender: Sender, obj: Model) -> None:
    request = sender.request
    user = user_key(request.user)
    rules = policy.policy_for(obj)
    if not rules.likes:
        raise Refused("likes", _("Comments can't be liked here."))
    if rules.needs_account(user):
        raise Refused("members", _("Only members can like comments here. Log in first."))
    if is_moderator(request.user):
        return
    email = getattr(request.user, "email", "")
    person = terms.of_comment(name="", account=user, email=email, source="", html="")
    if bans.find([*person, *map(TermKind.NETWORK.term, ip_hash.networks(request))]):
        raise Refused("banned", _("Likes from you aren't accepted here at the moment."))
    if not spam.may_like(ip_hash=ip_hash.key(request), user=user):
        raise Refused("rate", _("You have liked many comments in a short time. Please wait a few minutes."))


def is_liked(comment: Comment, who: str) -> bool:
    """Return whether a reader likes a comment."""
    return bool(who) and backend().likes.has(comment.target, comment.slug, who)


def liked(target: Target, who: str) -> set[str]:
    """Return the slugs of the comments in a discussion that a reader likes."""
    return backend().likes.liked(target, who) if who else set()


def liked_by(user: str) -> Iterator[tuple[Target, str, datetime]]:
    """Yield the target, the slug and the time of each of an account's likes."""
    return backend().likes.liked_by(f"user:{user}")


def erase(user: str) -> int:
    """Delete all likes of an account. Return how many were deleted."""
    return backend().likes.erase(f"user:{user}")
