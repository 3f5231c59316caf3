"""Store the redirects that editors add, and count how often readers use them."""

from collections.abc import Mapping
from typing import Any

from bson import ObjectId
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database, non_duplicate_errors
from nodes.collections import MANUAL_REDIRECTS
from nodes.errors import RedirectChanged
from nodes.types import Actor


def save(actor: Actor, url: str, target: str, seen: ObjectId | None) -> None:
    """Store the redirect from a normalized URL.

    Args:
        actor: The author of the change.
        url: The normalized URL.
        target: "node:ID", a path on this site, or the URL of another site.
        seen: The nonce of the stored redirect that the editor saw, or None for a new redirect.

    Raises:
        RedirectChanged: Someone else has changed, added or deleted the redirect.
    """
    fields = _fields(actor, target)
    if seen is not None:
        if not database()[MANUAL_REDIRECTS].update_one({"_id": url, "nonce": seen}, {"$set": fields}).matched_count:
            raise RedirectChanged(url)
        return
    try:
        database()[MANUAL_REDIRECTS].insert_one({"_id": url, **fields})
    except DuplicateKeyError as error:
        raise RedirectChanged(url) from error


def add_all(actor: Actor, targets: Mapping[str, str]) -> set[str]:
    """Store new redirects. `targets` contains the target of each normalized URL.

    Return the URLs from which someone else has added a redirect. These redirects aren't changed.
    """
    documents = [{"_id": url, **_fields(actor, target)} for url, target in targets.items()]
    if not documents:
        return set()
    try:
        database()[MANUAL_REDIRECTS].insert_many(documents, ordered=False)
    except BulkWriteError as error:
        if non_duplicate_errors(error):
            raise
        return {str(documents[failure["index"]]["_id"]) for failure in error.details["writeErrors"]}
    return set()


def _fields(actor: Actor, target: str) -> dict[str, Any]:
    return {"target": target, "nonce": ObjectId(), "saved_at": now(), "saved_by": actor.as_document()}


def delete(url: str, seen: ObjectId) -> None:
    """Delete the redirect from a normalized URL.

    Raises:
        RedirectChanged: Someone else has changed or deleted the redirect.
    """
    if not database()[MANUAL_REDIRECTS].delete_one({"_id": url, "nonce": seen}).deleted_count:
        raise RedirectChanged(url)


def add_hits(hits: Mapping[str, int]) -> None:
    """Add the numbers in `hits` to the hits of redirects, keyed by normalized URL. Deleted redirects are ignored."""
    moment = now()
    writes = [
        UpdateOne({"_id": url}, {"$inc": {"hits": number}, "$max": {"last_hit": moment}})
        for url, number in hits.items()
    ]
    if writes:
        database()[MANUAL_REDIRECTS].bulk_write(writes, ordered=False)
