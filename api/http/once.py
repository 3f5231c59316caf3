"""Once: a request that is sent again with its Idempotency-Key changes nothing again, and is answered as it was.

The key, with the account that sends it and what is asked, makes an id (`form`) under which services do a thing once, as they do
for a form of the admin that is sent twice. So what is kept here is the answer alone: a process that ends before it is kept has
done nothing that the next attempt would do again.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from bson import ObjectId
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from api.collections import ANSWERS
from api.problems import Problem
from api.rights import principals
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database

HEADER = "Idempotency-Key"
LONGEST = 255
# The header in the schema.
KEY = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST},
    "description": "Sent again with it, within a day, the request changes nothing again and is answered as it was.",
}
# In bytes. What is longer is not kept: made anew it says what is there now.
KEPT_MOST = 4_000_000


def once(request: HttpRequest, work: Callable[[ObjectId | None], HttpResponse]) -> HttpResponse:
    """Return what `work` answers to a request; if its key came before, what was answered then.

    `work` gets the id that the key makes with the request, None without a key; called again with the same id it must change
    nothing more. What it raises is not kept, nor what says Retry-After: the request may be tried again. Raises Problem (422) if
    the key came with another request.
    """
    key = key_of(request)
    if key is None:
        return work(None)
    owned = f"{principals.of(request).pk}:{key}"
    asked = _digest(request)
    kept_as = made_of(owned)
    kept = _begun(kept_as, asked)
    if "answer" in kept:
        return _replayed(kept)
    # Of what is asked too: the answer is forgotten after two days, and what was made under its id is not.
    response = work(made_of(f"{owned}:{asked}"))
    if response.status_code >= 300 or "Retry-After" in response or len(response.content) > KEPT_MOST:
        return response
    answer = {"status": response.status_code, "headers": dict(response.items()), "content": response.content}
    # Of several that came at once one was first: all say what it says.
    done = database()[ANSWERS].update_one({"_id": kept_as, "answer": None}, {"$set": {"answer": answer}})
    if done.matched_count:
        return response
    first = database()[ANSWERS].find_one({"_id": kept_as, "answer": {"$ne": None}})
    return _replayed(first) if first else response


def key_of(request: HttpRequest) -> str | None:
    """Return the Idempotency-Key of a request, None without one. Raises Problem (400) for one that is empty or too long."""
    key: str | None = request.headers.get(HEADER)
    if key is not None and not 0 < len(key) <= LONGEST:
        raise Problem("bad-request", f"{HEADER} has 1 to {LONGEST} characters.")
    return key


def made_of(text: str) -> ObjectId:
    """Return the id that a text makes, which no one else can foresee."""
    return ObjectId(salted_hmac("api.http.once", text, algorithm="sha256").digest()[:12])


def _begun(kept_as: ObjectId, asked: str) -> Document:
    kept: Document | None = database()[ANSWERS].find_one_and_update(
        {"_id": kept_as}, {"$setOnInsert": {"asked": asked, "created": now()}}, upsert=True, return_document=True
    )
    assert kept is not None  # as it is inserted where there is none
    if kept["asked"] != asked:
        raise Problem("key-reused")
    return kept


def _digest(request: HttpRequest) -> str:
    """Return what tells requests apart. Not If-Match: what is sent again names what it was made on, as it did."""
    asked = f"{request.method} {request.get_full_path()}\n".encode()
    return hashlib.sha256(asked + request.body).hexdigest()


def _replayed(kept: Any) -> HttpResponse:
    answer = kept["answer"]
    response = HttpResponse(bytes(answer["content"]), status=answer["status"])
    for name, value in answer["headers"].items():
        response[name] = value
    return response
