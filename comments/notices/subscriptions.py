"""Who wants to hear of replies: by discussion and address, confirmed by mail before the first notice goes out."""

from collections.abc import Iterable
from datetime import datetime

from django.core import signing
from django.utils.crypto import salted_hmac

from marginalia.comments.backends import backend
from marginalia.comments.types import Subscription, Target

SALT = "comments.subscriptions"
# What links in mails are for, and for how many days they can be used. To leave must be possible long after the last mail.
CONFIRM, LEAVE = "confirm", "leave"
DAYS = {CONFIRM: 7, LEAVE: 400}


class NoSubscription(Exception):
    """What a link leads to is not there any more."""


class BadLink(NoSubscription):
    """The link is not ours, was cut, or is too old."""


def ask(target: Target, slug: str, email: str) -> datetime | None:
    """Note that `email` wants to hear of replies to a comment; return since when the address is to be confirmed, None once it
    is."""
    return backend().subscriptions.add(id_of(target, email), target, slug, email)


def confirm(subscription: Subscription) -> None:
    """Record that the address is its owner's, who wants the notices."""
    backend().subscriptions.confirm(subscription.id)


def end(subscription_id: str) -> None:
    """Delete a subscription."""
    backend().subscriptions.end(subscription_id)


def to(target: Target, slugs: Iterable[str]) -> list[Subscription]:
    """Return who confirmed to hear of replies to one of these comments."""
    return backend().subscriptions.to(target, slugs)


def get(subscription_id: str) -> Subscription:
    """Return a subscription. Raises NoSubscription."""
    if (found := backend().subscriptions.get(subscription_id)) is None:
        raise NoSubscription(subscription_id)
    return found


def token(subscription_id: str, purpose: str) -> str:
    """Return what stands in the links of mails: it serves one purpose, CONFIRM or LEAVE, for so many DAYS."""
    return signing.dumps(subscription_id, salt=f"{SALT}.{purpose}")


def read(signed: str, purpose: str) -> Subscription:
    """Return the subscription that a link for a purpose is about. Raises NoSubscription, BadLink."""
    try:
        return get(signing.loads(signed, salt=f"{SALT}.{purpose}", max_age=DAYS[purpose] * 86_400))
    except signing.BadSignature as error:
        raise BadLink(signed) from error


def of(email: str) -> list[Subscription]:
    """Return all subscriptions of an address."""
    return backend().subscriptions.of(email)


def erase(email: str) -> int:
    """Delete all subscriptions of an address; return how many."""
    return backend().subscriptions.erase(email)


def id_of(target: Target, email: str) -> str:
    """Return the id of the subscription of an address to a discussion."""
    return salted_hmac(SALT, f"{target}\x00{email.casefold()}", algorithm="sha256").hexdigest()[:40]
