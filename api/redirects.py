"""Endpoints for the redirects that editors have added, and for describing, renaming and merging tags."""

from datetime import datetime
from typing import Annotated
from urllib.parse import unquote

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import Field

from api.http import responses
from api.http.routing import Router
from api.problems import Problem
from api.refusals import as_problems
from api.rights import principals
from api.rights.principals import ACCOUNTS
from api.rights.scopes import Scope
from api.schemas.shapes import Id, Shape
from nodes import access
from nodes.actions import ChangeTag, DeleteRedirect, SaveRedirect
from nodes.models.stored_site import linked_id
from nodes.redirects import LONGEST, normalized
from nodes.selectors import manual_redirects, stored_tags
from nodes.selectors.manual_redirects import Redirect
from nodes.tags import LONGEST as LONGEST_TAG
from nodes.tags import normalized as normalized_tag

router = Router(tags=["Site"])

DEFAULT_LIMIT, MAX_LIMIT = 100, 1_000
# The locations of an action's fields in the request.
FIELDS = {"url": "body.url", "target": "body.target", "tags": "body.name", "description": "body.description"}
URL = Annotated[str, Query(max_length=LONGEST, description="The old URL, such as /old-page.")]


class AddedRedirect(Shape):
    """A redirect. `node` is the page that the redirect leads to, or null for other targets."""

    __qualname__ = "Redirect"  # the name in the OpenAPI document

    url: str
    target: str
    node: Id | None
    hits: int
    last_hit: datetime | None
    etag: str = Field(description="The value for If-Match when you change or delete the redirect.")


class Redirects(Shape):
    """Redirects, sorted by old URL. `next` is the cursor of the next page, or null."""

    items: list[AddedRedirect]
    next: str | None


class RedirectTarget(Shape):
    """The new target of a redirect: the path of a page, another path on this site, or the URL of another site."""

    target: str = Field(min_length=1, max_length=LONGEST)


class NewRedirect(RedirectTarget):
    """A redirect from a URL on this site that has no page."""

    url: str = Field(min_length=1, max_length=2 * LONGEST)


class TagChanges(Shape):
    """Changes to a tag. If `name` is already a tag, the change is rejected, unless `merge` is true."""

    tag: str = Field(min_length=1, max_length=LONGEST_TAG)
    name: str | None = Field(None, min_length=1, max_length=LONGEST_TAG)
    description: str | None = None
    merge: bool = False


class ChangedTag(Shape):
    """A changed tag. If `is_complete` is false, a worker is still renaming the tag on its pages."""

    name: str
    description: str
    is_complete: bool


@router.get(
    "/redirects",
    auth=ACCOUNTS,
    operation_id="redirects_list",
    url_name="api-redirects",
    response=Redirects,
    summary="List redirects",
)
def list_redirects(
    request: HttpRequest,
    q: Annotated[str, Query(max_length=LONGEST, description="A part of the old URL.")] = "",
    cursor: Annotated[str, Query(max_length=LONGEST)] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
) -> HttpResponse:
    """Return the redirects that editors have added. You need permission to publish."""
    if not access.may_manage_redirects(principals.current(request)):
        raise PermissionDenied
    return responses.page_response(
        request,
        manual_redirects.page(q.lower(), cursor, limit + 1),
        limit,
        cursor=lambda redirect: redirect.url,
        serialize=lambda shown: list(map(_serialize, shown)),
    )


@router.post(
    "/redirects",
    auth=ACCOUNTS,
    operation_id="redirects_add",
    url_name="api-redirects",
    response=AddedRedirect,
    summary="Add a redirect",
)
def add(request: HttpRequest, data: NewRedirect) -> HttpResponse:
    """Add a redirect. You can safely send the request again."""
    user = principals.require_scope(request, Scope.PUBLISH)
    with as_problems(FIELDS):
        SaveRedirect(user=user, url=data.url, target=data.target).execute()
    return _redirect_response(request, data.url)


@router.patch(
    "/redirects",
    auth=ACCOUNTS,
    operation_id="redirects_change",
    url_name="api-redirects",
    response=AddedRedirect,
    summary="Change a redirect",
    openapi_extra={"parameters": [responses.IF_MATCH]},
)
def change(request: HttpRequest, url: URL, data: RedirectTarget) -> HttpResponse:
    """Change the target of a redirect. In If-Match, send its `etag`."""
    user = principals.require_scope(request, Scope.PUBLISH)
    seen = responses.if_match_nonce(request)
    with as_problems(FIELDS):
        SaveRedirect(user=user, url=url, target=data.target, seen=seen).execute()
    return _redirect_response(request, url)


@router.delete(
    "/redirects",
    auth=ACCOUNTS,
    operation_id="redirects_delete",
    url_name="api-redirects",
    response={204: None},
    summary="Delete a redirect",
    openapi_extra={"parameters": [responses.IF_MATCH]},
)
def delete(request: HttpRequest, url: URL) -> HttpResponse:
    """Delete a redirect. In If-Match, send its `etag`."""
    user = principals.require_scope(request, Scope.PUBLISH)
    seen = responses.if_match_nonce(request)
    with as_problems(FIELDS):
        DeleteRedirect(user=user, url=normalized(url), seen=seen).execute()
    return HttpResponse(status=204)


@router.post(
    "/tags/change",
    auth=ACCOUNTS,
    operation_id="tags_change",
    url_name="api-tags-change",
    response=ChangedTag,
    summary="Describe, rename or merge a tag",
)
def change_tag(request: HttpRequest, data: TagChanges) -> HttpResponse:
    """Change a tag on all pages, photos and drafts. The old URL of the tag redirects.

    If there are many pages, a worker renames the tag.
    """
    user = principals.require_scope(request, Scope.PUBLISH)
    tag = data.tag
    stored = stored_tags.get(tag)
    if not access.may_manage_tags(user):
        raise PermissionDenied
    if not stored_tags.count(tag) and (stored.nonce is None or stored.renamed_to):
        raise Problem("not-found", "There is no such tag.")
    action = ChangeTag(
        user=user,
        name=tag,
        new_name=tag if data.name is None else normalized_tag(data.name),
        description=stored.description if data.description is None else " ".join(data.description.split()),
        seen=stored.nonce,
        merges=data.merge,
    )
    with as_problems(FIELDS):
        new_name = action.check()
        is_complete = action.execute()
    changed = stored_tags.get(new_name)
    result = {"name": changed.name, "description": changed.description, "is_complete": is_complete}
    return responses.json_response(request, result)


def _redirect_response(request: HttpRequest, url: str) -> HttpResponse:
    redirect = manual_redirects.get(normalized(url))
    if redirect is None:
        raise Problem("not-found", "This redirect has just been deleted.")
    return responses.json_response(request, _serialize(redirect), nonce=redirect.nonce)


def _serialize(redirect: Redirect) -> dict[str, object]:
    return {
        "url": redirect.url,
        "target": unquote(manual_redirects.target_url(redirect.target)) or redirect.target,
        "node": linked_id(redirect.target),
        "hits": redirect.hits,
        "last_hit": redirect.last_hit,
        "etag": f'"{redirect.nonce}"',
    }
