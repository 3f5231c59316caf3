"""Subscriptions to replies, one per discussion and email address.

No notices are sent to an email address until its owner has confirmed the subscription.
"""

from collections.abc import Iterable
from datetime import datetime

from django.core import signing
from django.utils.crypto import salted_hmac

from marginalia.comments.backends import backend
from marginalia.comments.types import Subscription, Target

SALT = "comments.subscriptions"
# The purposes of signed links in emails, and for how many days a link with each purpose is valid. People must be able
# to unsubscribe long after they received an email.
CONFIRM, LEAVE = "confirm", "leave"
DAYS = {CONFIRM: 7, LEAVE: 400}


class NoSubscription(Exception):
    """The subscription that a link refers to does not exist, or no longer exists."""


class BadLink(NoSubscription):
    """The link was not signed by this site, was truncated, has expired, or is meant for a different purpose."""


def add(target: Target, slug: str, email: str) -> datetime | None:
    """Subscribe `email` to replies to a comment.

    Returns:
        The time at which the subscription was first requested, or None if the subscription is already confirmed.
    """
    return backend().subscriptions.add(id_for(target, email), target, slug, email)


def confirm(subscription: Subscription) -> None:
    """Record that the owner of the email address has confirmed the subscription."""
    backend().subscriptions.confirm(subscription.id)


def end(subscription_id: str) -> None:
    """Delete a subscription."""
    backend().subscriptions.end(subscription_id)


def confirmed_for(target: Target, slugs: Iterable[str]) -> list[Subscription]:
    """Return the confirmed subscriptions to replies to any of the comments with these slugs."""
    return backend().subscriptions.confirmed_for(target, slugs)


def get(subscription_id: str) -> Subscription:
    """Return a subscription.

    Raises:
        NoSubscription: The subscription does not exist.
    """
    if (subscription := backend().subscriptions.get(subscription_id)) is None:
        raise NoSubscription(subscription_id)
    return subscription


def token(subscription_id: str, purpose: str) -> str:
    """Return a signed token for a link in an email.

    The token is valid only for `purpose`, which is CONFIRM or LEAVE. DAYS specifies how long it is valid.
    """
    return signing.dumps(subscription_id, salt=f"{SALT}.{purpose}")


def read(signed: str, purpose: str) -> Subscription:
    """Return the subscription that a signed link identifies.

    Raises:
        BadLink: The link is invalid, has expired, or was not created for `purpose`.
        NoSubscription: The subscription does not exist.
    """
    try:
        return get(signing.loads(signed, salt=f"{SALT}.{purpose}", max_age=DAYS[purpose] * 86_400))
    except signing.BadSignature as error:
        raise BadLink(signed) from error


def by_email(email: str) -> list[Subscription]:
    """Return all subscriptions for an email address."""
    return backend().subscriptions.by_email(email)


def erase(email: str) -> int:
    """Delete all subscriptions for an email address. Return how many were deleted."""
    return backend().subscriptions.erase(email)


def id_for(target: Target, email: str) -> str:
    """Return the id of an email address's subscription to a discussion."""
    return salted_hmac(SALT, f"{target}\x00{email.casefold()}", algorithm="sha256").hexdigest()[:40]
