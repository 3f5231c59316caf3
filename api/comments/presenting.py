"""Comments as JSON, in the shapes of api/comments/shapes.py."""

from collections.abc import Collection
from typing import Any

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from api.comments.shapes import PENDING
from api.http import answers
from api.rights import principals
from api.rights.principals import Principal
from api.rights.scopes import OF_NODES
from marginalia.comments import conf
from marginalia.comments.moderation.pending import Case
from marginalia.comments.posting import policy
from marginalia.comments.posting.forms import user_key
from marginalia.comments.reading import links
from marginalia.comments.reading.lists import Subject
from marginalia.comments.types import Author, Comment, Discussion, Held, Target


def discussion(target: Target, obj: Model, found: Discussion) -> dict[str, Any]:
    """Return what is known of a discussion as a whole."""
    is_open = Subject(target, obj).is_open(found)
    return {"node": target.pk, "count": found.count, "open": is_open, "order": found.order}


def several(request: HttpRequest, obj: Model, shown: Collection[Comment | Held]) -> list[dict[str, Any]]:
    """Return comments on one object."""
    authors = _authors_of(obj)
    return [comment(request, one, authors) for one in shown]


def one(request: HttpRequest, obj: Model, shown: Comment | Held, *, status: int = 200, **more: Any) -> HttpResponse:
    """Answer a comment; its ETag is `"rev.hash"`: what If-Match takes for a change."""
    response = answers.told(request, {**comment(request, shown, _authors_of(obj)), **more}, status=status)
    response["ETag"] = f'"{shown.rev}.{response["ETag"][1:]}'
    return response


def comment(request: HttpRequest, shown: Comment | Held, authors: Collection[str]) -> dict[str, Any]:
    """Return a comment; one that waits is for its author alone. `authors`: the accounts that wrote what it is about."""
    public = shown if isinstance(shown, Comment) else None
    is_removed = public is not None and public.removed
    arguments = [shown.target.label, shown.target.pk, shown.slug]
    said = {
        "slug": shown.slug,
        "node": shown.target.pk,
        "parent": shown.parent or None,
        "depth": shown.slug.count("/"),
        "kind": shown.kind,
        "state": public.state if public else PENDING,
        "rev": shown.rev,
        "posted": shown.posted,
        "edited": public.edited if public else None,
        "author": None if is_removed else _writer(shown.author, authors),
        "body_html": "" if is_removed else shown.html,
        "url": links.origin(request) + reverse("comments-url-redirect", args=arguments),
    }
    return said | ({"source": shown.source} if not is_removed and _may_have_source(request, shown) else {})


def queued(case: Case) -> dict[str, Any]:
    """Return a comment of the queue, for moderators."""
    held = case.held
    return {
        "id": held.id,
        "rev": held.rev,
        "slug": held.slug,
        "node": held.target.pk,
        "path": case.obj.get_absolute_url() if case.obj else None,
        "parent": held.parent or None,
        "kind": held.kind,
        "state": held.verdict,
        "posted": held.posted,
        "author": _writer(held.author, _authors_of(case.obj) if case.obj else ()),
        "email": held.email,
        "body_html": held.html,
        "source": held.source,
        "reasons": case.reasons,
    }


def _writer(author: Author, authors: Collection[str]) -> dict[str, Any]:
    is_author = author.id is not None and author.id in authors
    return {"name": author.name, "url": author.url, "is_author": is_author, "is_moderator": author.is_moderator}


def _authors_of(obj: Model) -> Collection[str]:
    found: Collection[str] = conf.imported("AUTHORS")(obj)
    return found


def sees_own(principal: Principal) -> bool:
    """Return whether what readers do not see of one's own comments is shown: not by a token that is to see nothing."""
    return any(map(principal.has_scope, OF_NODES))


def _may_have_source(request: HttpRequest, shown: Comment | Held) -> bool:
    principal = principals.of(request)
    is_own = principal.is_authenticated and shown.author.id == user_key(principal)
    return (is_own and sees_own(principal)) or policy.is_moderator(principal)
