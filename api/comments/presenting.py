"""Convert comments to JSON, using the schemas in api/comments/shapes.py.

`marginalia.comments.api.presenting` converts the fields that all APIs have.
"""

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from django.db.models import Model
from django.http import HttpRequest, HttpResponse

from api.http import responses
from api.rights import principals
from api.rights.principals import Principal
from api.rights.scopes import OF_NODES
from marginalia.comments import conf
from marginalia.comments.api import presenting
from marginalia.comments.moderation.pending import Case
from marginalia.comments.moderation.searches import Hit
from marginalia.comments.moderators import is_moderator
from marginalia.comments.posting.forms import user_key
from marginalia.comments.reading.lists import Subject
from marginalia.comments.types import Comment, Discussion, HeldComment, Target


def serialize_discussion(target: Target, obj: Model, discussion: Discussion) -> dict[str, Any]:
    """Return a discussion's data, without its comments."""
    return {"node": target.pk, **presenting.serialize_discussion(Subject(target, obj), discussion)}


def serialize_managed(target: Target, obj: Model, discussion: Discussion) -> dict[str, Any]:
    """Return a discussion's data with its restrictions."""
    given = discussion.restrictions
    hours = dict(zip(("begin", "end"), map(_minute, given.hours), strict=True)) if given.hours else None
    restrictions = {**asdict(given), "hours": hours, "locked": list(given.locked)}
    return {**serialize_discussion(target, obj, discussion), "restrictions": restrictions}


def _minute(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def serialize_comments(
    request: HttpRequest, obj: Model, comments: Collection[Comment | HeldComment]
) -> list[dict[str, Any]]:
    """Return the data of several comments on the same object."""
    authors = _authors_of(obj)
    return [serialize_comment(request, comment, authors) for comment in comments]


def comment_response(
    request: HttpRequest, obj: Model, comment: Comment | HeldComment, *, status: int = 200, **more: Any
) -> HttpResponse:
    """Return the response for a comment. Clients send its ETag, `"rev.hash"`, in If-Match to change the comment."""
    response = responses.json_response(
        request, {**serialize_comment(request, comment, _authors_of(obj)), **more}, status=status
    )
    response["ETag"] = f'"{comment.rev}.{response["ETag"][1:]}'
    return response


def serialize_comment(request: HttpRequest, comment: Comment | HeldComment, authors: Collection[str]) -> dict[str, Any]:
    """Return a comment's data. If a comment is waiting for a moderator, only its author may receive the data.

    Args:
        request: The request.
        comment: The comment.
        authors: The ids of the accounts that are authors of the commented object.
    """
    data = {"node": comment.target.pk, **presenting.serialize_comment(request, comment, authors)}
    is_removed = isinstance(comment, Comment) and comment.removed
    return data | ({"source": comment.source} if not is_removed and _can_see_source(request, comment) else {})


def serialize_found(hit: Hit) -> dict[str, Any]:
    """Return the data that moderators get for a comment that a search found."""
    return {
        "id": hit.found.held_id or None,
        "state": hit.found.state,
        **_serialize_for_moderators(hit.comment, hit.obj),
    }


def serialize_queued(case: Case) -> dict[str, Any]:
    """Return the data that moderators get for a comment in the queue."""
    held = case.held
    return {
        "id": held.id,
        "state": held.verdict,
        **_serialize_for_moderators(held, case.obj),
        "email": held.email,
        "reasons": case.reasons,
    }


def _serialize_for_moderators(comment: Comment | HeldComment, obj: Model | None) -> dict[str, Any]:
    """Return the data of a comment on `obj`, which is None if readers can't see the object."""
    return {
        "rev": comment.rev,
        "slug": comment.slug,
        "node": comment.target.pk,
        "path": obj.get_absolute_url() if obj else None,
        "parent": comment.parent or None,
        "kind": comment.kind,
        "posted": comment.posted,
        "author": presenting.serialize_author(comment.author, _authors_of(obj) if obj else ()),
        "body_html": comment.html,
        "source": comment.source,
    }


def _authors_of(obj: Model) -> Collection[str]:
    authors: Collection[str] = conf.load("AUTHORS")(obj)
    return authors


def can_see_own(principal: Principal) -> bool:
    """Return whether a principal can see its own comments while they are waiting for a moderator.

    If the principal uses a token without a scope for nodes, return False.
    """
    return any(map(principal.has_scope, OF_NODES))


def _can_see_source(request: HttpRequest, comment: Comment | HeldComment) -> bool:
    principal = principals.current(request)
    is_own = principal.is_authenticated and comment.author.id == user_key(principal)
    return (is_own and can_see_own(principal)) or is_moderator(principal)
