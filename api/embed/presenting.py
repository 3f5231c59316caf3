"""Convert discussions to the JSON that embed.js shows."""

from collections.abc import Collection, Iterable
from typing import Any

from django.utils.formats import localize
from django.utils.translation import ngettext

from api.comments import presenting
from api.models import EmbeddedPage
from marginalia.comments.posting import own, policy, services
from marginalia.comments.posting.forms import user_key
from marginalia.comments.posting.policy import Mode
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, Discussion, HeldComment, Target


def serialize_discussion(sender: Sender, page: EmbeddedPage, discussion: Discussion) -> dict[str, Any]:
    """Return a discussion's data, without its comments."""
    rules = policy.policy_for(page)
    count = discussion.count
    return {
        "count": count,
        "heading": ngettext("%(count)s comment", "%(count)s comments", count) % {"count": localize(count)},
        "open": not rules.is_closed(discussion),
        "members_only": rules.mode is Mode.MEMBERS and not user_key(sender.request.user),
        "likes": rules.likes,
        "order": discussion.order,
    }


def serialize_comments(
    sender: Sender,
    page: EmbeddedPage,
    comments: Iterable[Comment | HeldComment],
    discussion: Discussion,
    liked: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the data of several comments on the same page, with what the sender can do with them.

    `liked` contains the slugs of the comments that the sender likes.
    """
    is_open = not policy.policy_for(page).is_closed(discussion)
    return [
        _serialize(sender, page, comment, discussion, is_open=is_open) | {"liked": comment.slug in liked}
        for comment in comments
    ]


def _serialize(
    sender: Sender, page: EmbeddedPage, comment: Comment | HeldComment, discussion: Discussion, *, is_open: bool
) -> dict[str, Any]:
    data = presenting.serialize_comment(sender.request, comment, ())
    if data["author"]:
        data["author"]["picture"] = comment.author.picture
    is_held = isinstance(comment, HeldComment)
    is_removed = isinstance(comment, Comment) and comment.removed
    may_edit = services.may_edit(sender, page, comment)
    may_reply = is_open and not is_held and not is_removed
    return data | {
        "answers": comment.parent if isinstance(comment, HeldComment) else comment.answers,
        "can_reply": may_reply and (sender.is_moderator or not discussion.restrictions.is_locked(comment.slug)),
        "can_edit": may_edit,
        "can_delete": not is_removed and services.may_delete(sender, comment),
        "source": comment.source if may_edit else "",
    }


def own_held(sender: Sender, target: Target) -> list[HeldComment]:
    """Return the pending comments that the sender can see: their own, or all if the sender is a moderator."""
    if sender.is_moderator:
        return list(selectors.held(target=target))
    listed = own.list_own(sender.sent, target, sender.request.user)
    return [entry.comment for entry in listed if isinstance(entry.comment, HeldComment)]
