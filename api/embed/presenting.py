"""Convert discussions to the JSON that embed.js shows."""

from collections.abc import Collection, Iterable
from typing import Any

from django.utils.formats import localize
from django.utils.translation import ngettext

from api.models import EmbeddedPage
from marginalia.comments.api import presenting
from marginalia.comments.posting import own
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.reading.lists import Subject
from marginalia.comments.types import Comment, Discussion, HeldComment, Target


def serialize_discussion(sender: Sender, page: EmbeddedPage, discussion: Discussion) -> dict[str, Any]:
    """Return a discussion's data, without its comments."""
    subject, count = Subject.from_object(page), discussion.count
    heading = ngettext("%(count)s comment", "%(count)s comments", count) % {"count": localize(count)}
    return presenting.serialize_discussion_for(sender, subject, discussion) | {"heading": heading}


def serialize_comments(
    sender: Sender,
    page: EmbeddedPage,
    comments: Iterable[Comment | HeldComment],
    discussion: Discussion,
    liked: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the data of several comments on the same page, with the pictures of their authors.

    `liked` contains the slugs of the comments that the sender likes.
    """
    comments = list(comments)
    items = presenting.serialize_for(sender, page, comments, discussion, liked)
    for item, comment in zip(items, comments, strict=True):
        if item["author"]:
            item["author"]["picture"] = comment.author.picture
    return items


def own_held(sender: Sender, target: Target) -> list[HeldComment]:
    """Return the pending comments that the sender can see: their own, or all if the sender is a moderator."""
    if sender.is_moderator:
        return list(selectors.held(target=target))
    listed = own.list_own(sender.sent, target, sender.request.user)
    return [entry.comment for entry in listed if isinstance(entry.comment, HeldComment)]
