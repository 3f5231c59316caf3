"""Endpoints that return the discussion of a page, the numbers of comments on many pages, and previews."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import Field

from api.comments import refusals
from api.comments.reading import MAX_COUNTED, Cursor
from api.embed import pages, presenting
from api.embed.parameters import OPTIONS, Address, embed_sender, parse_address, router
from api.embed.texts import texts
from api.http import responses
from api.problems import Problem
from api.schemas.shapes import Shape
from marginalia.comments import conf
from marginalia.comments.api import shapes, writing
from marginalia.comments.posting import ip_hash, likes, preparation, spam
from marginalia.comments.posting.forms import user_key
from marginalia.comments.reading import paging, selectors
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.reading.views import MAX_ANCHOR

Anchor = Annotated[str, Query(max_length=MAX_ANCHOR)]


@router.get("/embed/comments", url_name="embed-comments", **OPTIONS)
@refusals.as_problems()
def comments(request: HttpRequest, page: Address, cursor: Cursor = "", anchor: Anchor = "") -> HttpResponse:
    """Return a page of a discussion, and the pending comments that the sender can see.

    If `anchor` is the fragment of an imported comment's old permalink, return the page that contains the comment.
    """
    sender = embed_sender(request)
    address = parse_address(page)
    embedded = pages.get(address)
    target = address.target
    shown = selectors.imported_slug(target, anchor) if anchor else ""
    cursor = f"threaded.at.{shown}" if shown else cursor
    result = selectors.requested_page(target, PageRequest.parse(cursor))
    previous, following = paging.cursors(result)
    held = presenting.own_held(sender, target)
    liked = likes.liked(target, likes.reader(request.user, writing.guest(request)))
    response = responses.json_response(
        request,
        {
            "items": presenting.serialize_comments(sender, embedded, result.comments, result.discussion, liked),
            "pending": presenting.serialize_comments(sender, embedded, held, result.discussion),
            "previous": previous,
            "next": following,
            "shown": shown,
            "discussion": presenting.serialize_discussion(sender, embedded, result.discussion),
            "sender": {"name": request.user.get_full_name(), "is_moderator": sender.is_moderator},
            "max_length": conf.get("MAX_LENGTH"),
            "texts": texts(),
        },
    )
    # The response depends on the headers Comments-Own and Comments-Guest, which aren't part of a cache's key.
    response["Cache-Control"] = "private, no-cache"
    return response


@router.get("/embed/counts", url_name="embed-counts", **OPTIONS)
def counts(
    request: HttpRequest, page: Annotated[list[str], Query(min_length=1, max_length=MAX_COUNTED)]
) -> HttpResponse:
    """Return the number of comments on each of the given pages, in the same order."""
    addresses = [parse_address(text) for text in page]
    discussions = selectors.discussions({address.target for address in addresses})
    items = [{"page": address.text, "count": discussions[address.target].count} for address in addresses]
    return responses.json_response(request, {"items": items})


class Text(Shape):
    """A text to preview."""

    text: str = Field(max_length=shapes.MAX_LENGTH)


@router.post("/embed/preview", url_name="embed-preview", **OPTIONS)
@refusals.as_problems()
def preview(request: HttpRequest, data: Text) -> HttpResponse:
    """Return a comment's text as HTML, without storing it."""
    sender = embed_sender(request)
    if not spam.may_preview(ip_hash=ip_hash.key(request), user=user_key(sender.request.user)):
        raise Problem("too-many-requests")
    preparation.check_length(data.text)
    return responses.json_response(request, {"body_html": preparation.render(data.text)})
