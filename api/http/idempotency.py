"""Idempotent requests.

If a client repeats a request with the same Idempotency-Key, it gets the first response, and nothing is changed.

The key, the account and the content of the request determine an id (`request_id`). Services use this id to make a
change only once, just as when an admin form is submitted twice. This module therefore stores only the response. If a
process dies before it stores the response, a repeated request still doesn't make the change twice.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from bson import ObjectId
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from api.collections import RESPONSES
from api.problems import Problem
from api.rights import principals
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database

HEADER = "Idempotency-Key"
MAX_KEY_LENGTH = 255
# The OpenAPI parameter for operations that accept the Idempotency-Key header.
KEY_PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
    "description": "Identifies the request. A request that is sent again with the same key within a day changes "
    "nothing and returns the first response.",
}
# Maximum size of a stored response in bytes. Larger responses aren't stored. If such a request is repeated, its
# response is generated again from the current content.
MAX_STORED_BYTES = 4_000_000


def run_once(request: HttpRequest, work: Callable[[ObjectId | None], HttpResponse]) -> HttpResponse:
    """Run `work` and return its response. If the request's key was used before, return the stored response.

    Errors, and responses with a Retry-After header, aren't stored, so that the client can try again.

    Args:
        request: The request.
        work: A function that makes the change and returns the response. Its argument is the id derived from the key and
            the request, or None if the request has no key. If the function is called again with the same id, it must
            not change anything.

    Raises:
        Problem: 422 if the key was used for a different request.
    """
    key = read_key(request)
    if key is None:
        return work(None)
    owned = f"{principals.current(request).pk}:{key}"
    digest = _digest(request)
    record_id = derive_id(owned)
    record = _claim(record_id, digest)
    if "answer" in record:
        return _replay(record)
    # The id also depends on the content of the request, because the stored response expires after two days, but the
    # objects created with the id don't expire.
    response = work(derive_id(f"{owned}:{digest}"))
    if response.status_code >= 300 or "Retry-After" in response or len(response.content) > MAX_STORED_BYTES:
        return response
    stored_response = {"status": response.status_code, "headers": dict(response.items()), "content": response.content}
    # If several identical requests run at the same time, the first one to finish stores its response, and all of these
    # requests return the stored response.
    result = database()[RESPONSES].update_one({"_id": record_id, "answer": None}, {"$set": {"answer": stored_response}})
    if result.matched_count:
        return response
    first = database()[RESPONSES].find_one({"_id": record_id, "answer": {"$ne": None}})
    return _replay(first) if first else response


def read_key(request: HttpRequest) -> str | None:
    """Return a request's Idempotency-Key, or None if the header is missing.

    Raises:
        Problem: 400 if the key is empty or too long.
    """
    key: str | None = request.headers.get(HEADER)
    if key is not None and not 0 < len(key) <= MAX_KEY_LENGTH:
        raise Problem("bad-request", f"{HEADER} must have 1 to {MAX_KEY_LENGTH} characters.")
    return key


def derive_id(text: str) -> ObjectId:
    """Return an id derived from `text` and the site's secret key, so that clients can't predict the id."""
    return ObjectId(salted_hmac("api.http.once", text, algorithm="sha256").digest()[:12])


def _claim(record_id: ObjectId, digest: str) -> Document:
    record: Document | None = database()[RESPONSES].find_one_and_update(
        {"_id": record_id}, {"$setOnInsert": {"asked": digest, "created": now()}}, upsert=True, return_document=True
    )
    assert record is not None  # an upsert always returns the document
    if record["asked"] != digest:
        raise Problem("key-reused")
    return record


def _digest(request: HttpRequest) -> str:
    """Return a hash of a request's content.

    The hash doesn't include If-Match, because a repeated request is based on the same version.
    """
    head = f"{request.method} {request.get_full_path()}\n".encode()
    return hashlib.sha256(head + request.body).hexdigest()


def _replay(record: Any) -> HttpResponse:
    stored_response = record["answer"]
    response = HttpResponse(bytes(stored_response["content"]), status=stored_response["status"])
    for name, value in stored_response["headers"].items():
        response[name] = value
    return response
