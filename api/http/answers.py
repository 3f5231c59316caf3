"""What endpoints answer: JSON with an ETag, pages of lists with their cursor, and what If-Match says.

The ETag of a node is `"nonce.hash"`: the nonce is what If-Match compares, the hash is of the bytes, which change without it
when a tag, an address or a photo in the text does. Everything else has the hash alone.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
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

# The header in the schema.
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": True,
    "schema": {"type": "string"},
    "description": "The ETag of the version that the change is made on.",
}


def told(request: HttpRequest, said: Any, *, nonce: ObjectId | None = None, status: int = 200) -> HttpResponse:
    """Return JSON with its ETag; `nonce`: of the node that it shows. 304 is answered outside (api/middleware.py)."""
    content = json.dumps(said, default=as_json, ensure_ascii=False, separators=(",", ":")).encode()
    response = HttpResponse(content, status=status, content_type="application/json")
    response["ETag"] = etag(nonce, content)
    if principals.of(request).is_authenticated:
        response["Cache-Control"] = "private, no-cache"
        patch_vary_headers(response, ["Authorization", "Cookie"])
    else:
        response["Cache-Control"] = "no-cache"
    return response


def page(request: HttpRequest, items: list[Any], following: str | None, **more: Any) -> HttpResponse:
    """Return a page of a list: {items, next}, and `next` as an address in Link. `following`: the cursor of what follows."""
    response = told(request, {"items": items, "next": following or None, **more})
    if following:
        asked = [(name, value) for name, values in request.GET.lists() for value in values if name != "cursor"]
        address = f"{request.path}?{urlencode([*asked, ('cursor', following)])}"
        response["Link"] = f'<{address}>; rel="next"'
    return response


def etag(nonce: ObjectId | None, content: bytes) -> str:
    """Return the ETag of some bytes, quoted: "nonce.hash", or "hash" of what has no nonce."""
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return quote_etag(f"{nonce}.{digest}" if nonce else digest)


def expected(request: HttpRequest) -> ObjectId:
    """Return the nonce that If-Match names: the version that a change was made on. Raises Problem, as nonce_in."""
    return nonce_in(request.headers.get("If-Match", ""))


def nonce_in(header: str) -> ObjectId:
    """Return the nonce that an If-Match names.

    Raises Problem: 428 without it, and for "*", which would overwrite what was not read; 412 for what names none.
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
        told = "If-Match names no version of this: it takes an ETag as it was answered, with its quotes."
        raise Problem("stale", told) from None


def as_json(value: Any) -> Any:
    """Return a value of a node as JSON has it. Raises TypeError for one that has no form there."""
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
    raise TypeError(f"{type(value).__name__} has no form in JSON")
