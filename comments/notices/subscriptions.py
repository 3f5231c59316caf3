"""Who wants to hear of replies: by discussion and address, confirmed by mail before the first notice goes out."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.core import signing
from django.utils.crypto import salted_hmac

from comments import conf
from comments.types import Target
from mongo.connection import database, now

COLLECTION = "comments.subscriptions"
SALT = "comments.subscriptions"
# What links in mails are for, and for how many days they can be used. To leave must be possible long after the last mail.
CONFIRM, LEAVE = "confirm", "leave"
DAYS = {CONFIRM: 7, LEAVE: 400}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NoSubscription(Exception):
    """The link is not ours, or what it leads to is not there any more."""


@dataclass(frozen=True)
class Subscription:
    """An address that wants to hear of replies to `slugs` in a discussion; `confirmed`: since when it does, if it does."""

    id: str
    target: Target
    email: str
    slugs: tuple[str, ...]
    confirmed: datetime | None


def ask(target: Target, slug: str, email: str) -> bool:
    """Note that `email` wants to hear of replies to a comment; return whether the address is still to be confirmed."""
    before = _subscriptions().find_one_and_update(
        {"_id": id_of(target, email)},
        {
            "$addToSet": {"slugs": slug},
            "$setOnInsert": {"discussion_id": target.id, "email": email.lower(), "confirmed": None, "asked": now()},
        },
        upsert=True,
    )
    return before is None or before["confirmed"] is None


def confirm(subscription: Subscription) -> None:
    """Record that the address is its owner's, who wants the notices. What is not confirmed goes by a TTL on `asked`."""
    _subscriptions().update_one({"_id": subscription.id}, {"$set": {"confirmed": now()}, "$unset": {"asked": 1}})


def end(subscription_id: str) -> None:
    """Delete a subscription."""
    _subscriptions().delete_one({"_id": subscription_id})


def to(target: Target, slugs: Iterable[str]) -> list[Subscription]:
    """Return who confirmed to hear of replies to one of these comments."""
    query = {"discussion_id": target.id, "slugs": {"$in": list(slugs)}, "confirmed": {"$gt": EPOCH}}
    return [_subscription(document) for document in _subscriptions().find(query)]


def get(subscription_id: str) -> Subscription:
    """Return a subscription. Raises NoSubscription."""
    found = _subscriptions().find_one({"_id": subscription_id})
    if found is None:
        raise NoSubscription(subscription_id)
    return _subscription(found)


def token(subscription_id: str, purpose: str) -> str:
    """Return what stands in the links of mails: it serves one purpose, CONFIRM or LEAVE, for so many DAYS."""
    return signing.dumps(subscription_id, salt=f"{SALT}.{purpose}")


def read(signed: str, purpose: str) -> Subscription:
    """Return the subscription that a link for a purpose is about. Raises NoSubscription."""
    try:
        return get(signing.loads(signed, salt=f"{SALT}.{purpose}", max_age=DAYS[purpose] * 86_400))
    except signing.BadSignature as error:
        raise NoSubscription(signed) from error


def of(email: str) -> list[Subscription]:
    """Return all subscriptions of an address."""
    return [_subscription(document) for document in _subscriptions().find({"email": email.lower()})]


def erase(email: str) -> int:
    """Delete all subscriptions of an address; return how many."""
    return int(_subscriptions().delete_many({"email": email.lower()}).deleted_count)


def forget(target: Target) -> None:
    """Delete the subscriptions to a discussion that is gone."""
    _subscriptions().delete_many({"discussion_id": target.id})


def id_of(target: Target, email: str) -> str:
    """Return the id of the subscription of an address to a discussion."""
    return salted_hmac(SALT, f"{target.id}\x00{email.casefold()}", algorithm="sha256").hexdigest()[:40]


def _subscription(document: Any) -> Subscription:
    return Subscription(
        document["_id"],
        Target.parse(document["discussion_id"]),
        document["email"],
        tuple(document["slugs"]),
        document["confirmed"],
    )


def _subscriptions() -> Any:
    return database(conf.database_alias())[COLLECTION]
