"""Repeated requests: a request sent again with its Idempotency-Key changes nothing again and gets the first response.

The key, the account and the content of the request determine an id (`request_id`). Services use this id to do a thing
only once, in the same way as for a form of the admin that is submitted twice. So only the response has to be stored
here. If a process ends before it stores the response, the next attempt still repeats nothing.
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
# The parameter of operations that accept the header, for the OpenAPI document.
KEY_PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
    "description": "A request sent again with its key within a day changes nothing again and gets the first response.",
}
# In bytes. Longer responses are not stored. A repeated request generates them again, with the current content.
MAX_STORED_BYTES = 4_000_000


def run_once(request: HttpRequest, work: Callable[[ObjectId | None], HttpResponse]) -> HttpResponse:
    """Run `work` and return its response; if the request's key was used before, return the stored response.

    `work` gets the id that is derived from key and request, or None without a key. If it is called again with the same
    id, it must change nothing more. Errors that it raises and responses with Retry-After are not stored, so that the
    client can try again. Raises Problem (422) if the key was used with another request.
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
    # The id depends on the request's content too. The response is forgotten after two days, but the objects created
    # under the id are not.
    response = work(derive_id(f"{owned}:{digest}"))
    if response.status_code >= 300 or "Retry-After" in response or len(response.content) > MAX_STORED_BYTES:
        return response
    stored_response = {"status": response.status_code, "headers": dict(response.items()), "content": response.content}
    # If several identical requests run at once, the first to finish stores its response, and all return that.
    result = database()[RESPONSES].update_one({"_id": record_id, "answer": None}, {"$set": {"answer": stored_response}})
    if result.matched_count:
        return response
    first = database()[RESPONSES].find_one({"_id": record_id, "answer": {"$ne": None}})
    return _replay(first) if first else response


def read_key(request: HttpRequest) -> str | None:
    """Return the Idempotency-Key of a request, None without one. Raises Problem (400) if it is empty or too long."""
    key: str | None = request.headers.get(HEADER)
    if key is not None and not 0 < len(key) <= MAX_KEY_LENGTH:
        raise Problem("bad-request", f"{HEADER} has 1 to {MAX_KEY_LENGTH} characters.")
    return key


def derive_id(text: str) -> ObjectId:
    """Return the id derived from a text, which nobody else can predict."""
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
    """Return a hash that tells requests apart.

    It leaves out If-Match, because a repeated request is based on the same version anyway.
    """
    head = f"{request.method} {request.get_full_path()}\n".encode()
    return hashlib.sha256(head + request.body).hexdigest()


def _replay(record: Any) -> HttpResponse:
    stored_response = record["answer"]
    response = HttpResponse(bytes(stored_response["content"]), status=stored_response["status"])
    for name, value in stored_response["headers"].items():
        response[name] = value
    return response
