"""Build JSON responses with ETags, build list pages with cursors, and parse If-Match headers.

A node's ETag is `"nonce.hash"`. For If-Match, only the nonce is compared. The hash is computed from the response, which
also changes when a tag, a URL or a photo in the body text changes. All other ETags consist only of the hash.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from bson import ObjectId
from bson.errors import InvalidId
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.duration import duration_iso_string
from django.utils.functional import Promise
from django.utils.http import parse_etags, quote_etag

from api.problems import Problem
from api.rights import principals

Item = TypeVar("Item")

# The OpenAPI parameter for operations that need If-Match.
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": True,
    "schema": {"type": "string"},
    "description": "The ETag of the version that the change is based on.",
}


def json_response(request: HttpRequest, data: Any, *, nonce: ObjectId | None = None, status: int = 200) -> HttpResponse:
    """Return a JSON response with an ETag.

    If the client already has this response, the middleware returns 304 instead (api/middleware.py).

    Args:
        request: The request.
        data: The data. It must be JSON-compatible.
        nonce: The nonce of the node that `data` represents, or None if `data` isn't a node.
        status: The HTTP status.
    """
    content = json.dumps(data, default=json_default, ensure_ascii=False, separators=(",", ":")).encode()
    response = HttpResponse(content, status=status, content_type="application/json")
    return add_cache_headers(request, response, nonce)


def add_cache_headers(request: HttpRequest, response: HttpResponse, nonce: ObjectId | None = None) -> HttpResponse:
    """Add an ETag and a Cache-Control header to a response. Return the response.

    If an account sent the request, shared caches must not store the response.

    Args:
        request: The request.
        response: The response.
        nonce: The nonce of the node in the response, or None if the response isn't a node.
    """
    response["ETag"] = etag(nonce, response.content)
    if principals.current(request).is_authenticated:
        response["Cache-Control"] = "private, no-cache"
        patch_vary_headers(response, ["Authorization", "Cookie"])
    else:
        response["Cache-Control"] = "no-cache"
    return response


def list_response(request: HttpRequest, items: list[Any], following: str | None, **more: Any) -> HttpResponse:
    """Return a list page as {items, next}, and put the next page's URL in the Link header.

    Args:
        request: The request.
        items: The items on the page.
        following: The cursor of the next page, or None or "" for the last page.
        **more: Additional members for the JSON object.
    """
    response = json_response(request, {"items": items, "next": following or None, **more})
    if following:
        parameters = [(name, value) for name, values in request.GET.lists() for value in values if name != "cursor"]
        url = f"{request.path}?{urlencode([*parameters, ('cursor', following)])}"
        response["Link"] = f'<{url}>; rel="next"'
    return response


def page_response(
    request: HttpRequest,
    read: Sequence[Item],
    limit: int,
    *,
    cursor: Callable[[Item], str],
    serialize: Callable[[Sequence[Item]], list[Any]],
) -> HttpResponse:
    """Return a list page of at most `limit` items.

    Args:
        request: The request.
        read: The items on the page, and one more if there is a next page.
        limit: The maximum number of items.
        cursor: A function that returns the cursor of the page after an item.
        serialize: A function that converts the items to JSON-compatible data.
    """
    shown = read[:limit]
    return list_response(request, serialize(shown), cursor(shown[-1]) if len(read) > limit else None)


def etag(nonce: ObjectId | None, content: bytes) -> str:
    """Return the quoted ETag for `content`: "nonce.hash", or "hash" if there is no nonce."""
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return quote_etag(f"{nonce}.{digest}" if nonce else digest)


def if_match_nonce(request: HttpRequest) -> ObjectId:
    """Return the nonce in the If-Match header, which identifies the version that a change is based on.

    Raises:
        Problem: 428 or 412, for the same reasons as in `parse_if_match`.
    """
    return parse_if_match(request.headers.get("If-Match", ""))


def parse_if_match(header: str) -> ObjectId:
    """Parse the value of an If-Match header and return its nonce.

    Raises:
        Problem: 428 if the header is empty or "*", because "*" would overwrite changes that the client has not read,
            412 if the header contains no nonce.
    """
    header = header.strip()
    if not header or header == "*":
        raise Problem("if-match-needed")
    tags = parse_etags(header)
    try:
        if len(tags) != 1:
            raise InvalidId
        return ObjectId(tags[0].removeprefix("W/").strip('"').partition(".")[0])
    except InvalidId:
        message = "If-Match doesn't match any version. Send an ETag exactly as it was returned, with its quotes."
        raise Problem("stale", message) from None


def json_default(value: Any) -> Any:
    """Convert a value from a node to a type that json.dumps supports.

    Raises:
        TypeError: The value can't be converted.
    """
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return duration_iso_string(value)
    if isinstance(value, ObjectId | Decimal | UUID | Promise):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} can't be converted to JSON")
