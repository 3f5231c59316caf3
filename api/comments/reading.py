"""Reading discussions: what readers see of them, and their own comments while these wait."""

from dataclasses import asdict
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query

from api.comments import presenting, refusals, shapes
from api.comments.addresses import ALL, LABELS, ONE, CommentSlug, NodeId, discussed, router
from api.http import answers
from api.problems import Problem
from api.rights import principals
from api.schemas.shapes import Id
from marginalia.comments import targets
from marginalia.comments.posting import own
from marginalia.comments.reading import paging, selectors
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.types import Order, Target

SIZE, MOST = 50, 100
MOST_COUNTED = 100

Limit = Annotated[int, Query(ge=1, le=MOST)]
Cursor = Annotated[str, Query(max_length=paging.LONGEST, description="`next` or `previous` of another page.")]
InOrder = Annotated[
    str, Query(pattern=f"^({'|'.join(Order)})?$", description="Without it, the discussion's own order.")
]


@router.get(ALL, url_name="api-comments", response=shapes.Comments, summary="Read a discussion")
@refusals.told()
def comments(
    request: HttpRequest, node_id: NodeId, order: InOrder = "", cursor: Cursor = "", limit: Limit = SIZE
) -> HttpResponse:
    """Answer a page of what is said about a page, a post or a photo: its beginning, or the one of a cursor, in the order
    that the cursor is of."""
    target, obj = discussed(node_id)
    found = selectors.page(target, size=limit, **asdict(_wanted(order, cursor)))
    previous, following = paging.cursors(found)
    return answers.page(
        request,
        presenting.several(request, obj, found.comments),
        following,
        previous=previous or None,
        order=found.order,
        discussion=presenting.discussion(target, obj, found.discussion),
    )


def _wanted(order: str, cursor: str) -> PageRequest:
    if not cursor:
        return PageRequest(order)
    wanted = PageRequest.parse(cursor)
    if wanted == PageRequest(wanted.order):
        raise Problem("invalid", errors=[("query.cursor", "This is no cursor of this list.")])
    return wanted


@router.get(f"{ONE}/thread", url_name="api-thread", response=shapes.Thread, summary="Read a thread")
@refusals.told()
def thread(
    request: HttpRequest, node_id: NodeId, slug: CommentSlug, cursor: Cursor = "", limit: Limit = SIZE
) -> HttpResponse:
    """Answer a comment and all that hangs below it, each below what it answers."""
    target, obj = discussed(node_id)
    found = selectors.subdiscussion(target, slug, size=limit, after=cursor)
    told = presenting.discussion(target, obj, found.discussion)
    return answers.page(request, presenting.several(request, obj, found.comments), found.next, discussion=told)


@router.get(ONE, url_name="api-comment", response=shapes.CommentOnPage, summary="Read a comment")
@refusals.told()
def comment(
    request: HttpRequest, node_id: NodeId, slug: CommentSlug, order: InOrder = "", limit: Limit = SIZE
) -> HttpResponse:
    """Answer a comment, and the page that it is on; to its author, by account, also one that waits.

    Its ETag is `"rev.hash"`: what If-Match takes for a change.
    """
    target, obj = discussed(node_id)
    principal = principals.of(request)
    if presenting.sees_own(principal) and (held := own.waiting(target, slug, (), principal)):
        return presenting.one(request, obj, held, page=None)
    found = selectors.permalink(target, slug, order=order, size=limit)
    shown = next((one for one in found.comments if one.slug == slug), None) or selectors.get(target, slug)
    return presenting.one(request, obj, shown, page=paging.parameter_of(found, slug))


@router.get("/comments/counts", url_name="api-comment-counts", response=shapes.Counts, summary="Count comments")
def counts(
    request: HttpRequest,
    node: Annotated[list[Id], Query(min_length=1, max_length=MOST_COUNTED, description="Of which nodes, repeated.")],
) -> HttpResponse:
    """Answer how many comments each of many nodes has; nodes that readers do not see are left out."""
    wanted = [Target(label, key) for key in dict.fromkeys(node) for label in LABELS]
    seen = targets.resolve_many(wanted)
    found = selectors.discussions(target for target in wanted if target in seen)
    items = [{"node": target.pk, "count": one.count} for target, one in found.items()]
    return answers.told(request, {"items": items})
