"""Endpoints that return public comments, and an account's own comments while they are waiting for a moderator."""

from dataclasses import asdict
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query

from api.comments import presenting, refusals, shapes
from api.comments.parameters import COMMENT_PATH, COMMENTS_PATH, LABELS, CommentSlug, NodeId, load_target, router
from api.http import responses
from api.problems import Problem
from api.rights import principals
from api.schemas.shapes import Id
from marginalia.comments import targets
from marginalia.comments.posting import own
from marginalia.comments.reading import paging, selectors
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.types import Order, Target

DEFAULT_LIMIT, MAX_LIMIT = 50, 100
MAX_COUNTED = 100

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT)]
Cursor = Annotated[str, Query(max_length=paging.MAX_LENGTH, description="`next` or `previous` from another page.")]
OrderName = Annotated[
    str, Query(pattern=f"^({'|'.join(Order)})?$", description="By default, the discussion's own order.")
]


@router.get(
    COMMENTS_PATH,
    operation_id="comments_list",
    url_name="api-comments",
    response=shapes.Comments,
    summary="Read a discussion",
)
@refusals.as_problems()
def comments(
    request: HttpRequest, node_id: NodeId, order: OrderName = "", cursor: Cursor = "", limit: Limit = DEFAULT_LIMIT
) -> HttpResponse:
    """Return a page of a discussion.

    If you send a cursor, the response is the page that it refers to, in the cursor's order.
    """
    target, obj = load_target(node_id)
    page = selectors.page(target, size=limit, **asdict(_page_request(order, cursor)))
    previous, following = paging.cursors(page)
    return responses.list_response(
        request,
        presenting.serialize_comments(request, obj, page.comments),
        following,
        previous=previous or None,
        order=page.order,
        discussion=presenting.serialize_discussion(target, obj, page.discussion),
    )


def _page_request(order: str, cursor: str) -> PageRequest:
    if not cursor:
        return PageRequest(order)
    page = PageRequest.parse(cursor)
    if page == PageRequest(page.order):
        raise Problem("invalid", errors=[("query.cursor", "This cursor is not valid for this list.")])
    return page


@router.get(
    f"{COMMENT_PATH}/thread",
    operation_id="comments_get_thread",
    url_name="api-thread",
    response=shapes.Thread,
    summary="Read a thread",
)
@refusals.as_problems()
def thread(
    request: HttpRequest, node_id: NodeId, slug: CommentSlug, cursor: Cursor = "", limit: Limit = DEFAULT_LIMIT
) -> HttpResponse:
    """Return a comment and all replies in its thread. Each reply comes after the comment that it replies to."""
    target, obj = load_target(node_id)
    subdiscussion = selectors.subdiscussion(target, slug, size=limit, after=cursor)
    discussion = presenting.serialize_discussion(target, obj, subdiscussion.discussion)
    return responses.list_response(
        request,
        presenting.serialize_comments(request, obj, subdiscussion.comments),
        subdiscussion.next,
        discussion=discussion,
    )


@router.get(
    COMMENT_PATH,
    operation_id="comments_get",
    url_name="api-comment",
    response=shapes.CommentOnPage,
    summary="Read a comment",
)
@refusals.as_problems()
def comment(
    request: HttpRequest, node_id: NodeId, slug: CommentSlug, order: OrderName = "", limit: Limit = DEFAULT_LIMIT
) -> HttpResponse:
    """Return a comment and the page that contains it. You can also read your own pending comments.

    The ETag is `"rev.hash"`. Send it in If-Match to change the comment.
    """
    target, obj = load_target(node_id)
    principal = principals.current(request)
    if presenting.can_see_own(principal) and (held := own.find_held(target, slug, (), principal)):
        return presenting.comment_response(request, obj, held, page=None)
    page = selectors.permalink(target, slug, order=order, size=limit)
    comment = next((comment for comment in page.comments if comment.slug == slug), None) or selectors.get(target, slug)
    return presenting.comment_response(request, obj, comment, page=paging.parameter_for(page, slug))


@router.get(
    "/comments/counts",
    operation_id="comments_count",
    url_name="api-comment-counts",
    response=shapes.Counts,
    summary="Count comments",
)
def counts(
    request: HttpRequest,
    node: Annotated[
        list[Id],
        Query(
            min_length=1,
            max_length=MAX_COUNTED,
            description="The nodes whose comments to count. Repeat the parameter for several nodes.",
        ),
    ],
) -> HttpResponse:
    """Return the number of comments on each of the given nodes. Nodes that readers can't see are omitted."""
    candidates = [Target(label, key) for key in dict.fromkeys(node) for label in LABELS]
    visible = targets.resolve_many(candidates)
    discussions = selectors.discussions(target for target in candidates if target in visible)
    items = [{"node": target.pk, "count": discussion.count} for target, discussion in discussions.items()]
    return responses.json_response(request, {"items": items})
