"""Convert comments to JSON, using the schemas in shapes.py."""

from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from marginalia.comments.api.shapes import PENDING
from marginalia.comments.posting import services
from marginalia.comments.posting.forms import user_key
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import links
from marginalia.comments.reading.lists import Subject
from marginalia.comments.types import Comment, CommentAuthor, Discussion, HeldComment


def serialize_discussion(subject: Subject, discussion: Discussion) -> dict[str, Any]:
    """Return a discussion's data, without its comments."""
    return {
        "count": discussion.count,
        "open": subject.is_open(discussion),
        "likes": subject.may_like,
        "order": discussion.order,
    }


def serialize_discussion_for(sender: Sender, subject: Subject, discussion: Discussion) -> dict[str, Any]:
    """Return a discussion's data, with whether the sender must log in before commenting."""
    members_only = subject.policy.needs_account(user_key(sender.request.user))
    return serialize_discussion(subject, discussion) | {"members_only": members_only}


def serialize_comment(request: HttpRequest, comment: Comment | HeldComment, authors: Collection[str]) -> dict[str, Any]:
    """Return a comment's data. If a comment is waiting for a moderator, only its author may receive the data.

    Args:
        request: The request.
        comment: The comment.
        authors: The ids of the accounts that are authors of the commented object.
    """
    published = comment if isinstance(comment, Comment) else None
    is_removed = published is not None and published.removed
    arguments = [comment.target.label, comment.target.pk, comment.slug]
    return {
        "slug": comment.slug,
        "parent": comment.parent or None,
        "depth": comment.slug.count("/"),
        "kind": comment.kind,
        "state": published.state if published else PENDING,
        "rev": comment.rev,
        "posted": comment.posted,
        "edited": published.edited if published else None,
        "author": None if is_removed else serialize_author(comment.author, authors),
        "body_html": "" if is_removed else comment.html,
        "url": links.origin(request) + reverse("comments-url-redirect", args=arguments),
        "extra": dict(comment.extra),
        "likes": published.likes if published and not is_removed else 0,
    }


def serialize_author(author: CommentAuthor, authors: Collection[str]) -> dict[str, Any]:
    """Return the data of a comment's author."""
    is_author = author.id is not None and author.id in authors
    return {"name": author.name, "url": author.url, "is_author": is_author, "is_moderator": author.is_moderator}


def serialize_for(
    sender: Sender,
    obj: Model,
    comments: Iterable[Comment | HeldComment],
    discussion: Discussion,
    liked: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the data of several comments on `obj`, with what the sender can do with them.

    `liked` contains the slugs of the comments that the sender likes.
    """
    subject = Subject.from_object(obj)
    authors, is_open = subject.authors(), subject.is_open(discussion)
    return [
        serialize_comment(sender.request, comment, authors)
        | _rights(sender, obj, comment, discussion, is_open=is_open)
        | {"liked": comment.slug in liked}
        for comment in comments
    ]


def _rights(
    sender: Sender, obj: Model, comment: Comment | HeldComment, discussion: Discussion, *, is_open: bool
) -> dict[str, Any]:
    is_held = isinstance(comment, HeldComment)
    is_removed = isinstance(comment, Comment) and comment.removed
    may_edit = services.may_edit(sender, obj, comment)
    may_reply = is_open and not is_held and not is_removed
    return {
        "answers": comment.parent if isinstance(comment, HeldComment) else comment.answers,
        "can_reply": may_reply and (sender.is_moderator or not discussion.restrictions.is_locked(comment.slug)),
        "can_edit": may_edit,
        "can_delete": not is_removed and services.may_delete(sender, comment),
        "source": comment.source if may_edit else "",
    }
