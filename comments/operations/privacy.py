"""Export and erasure of all data about an author.

This includes comments in every layout, in the queue, in the history and in the catalogue, and IP hashes, flags, likes,
subscriptions, rate-limit counts, and bans of the account or the email address. Jobs and logs don't have to be searched,
because they contain only ids of comments, never names, addresses or text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from marginalia.comments.backends import backend
from marginalia.comments.notices import subscriptions
from marginalia.comments.operations.transfer import extra_of, picture_of
from marginalia.comments.posting import bans, flags, ip_hash, likes, spam
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, ReplacedComment, Target


@dataclass(frozen=True)
class Person:
    """An author, identified by the primary key of an account (as a str), by an email address, or by both."""

    id: str = ""
    email: str = ""

    def queries(self) -> list[dict[str, str]]:
        """Return the arguments for querying the backend, as one dict for each identifier."""
        return [{name: value} for name, value in (("id", self.id), ("email", self.email)) if value]


@dataclass(frozen=True)
class Erased:
    """How many items of each kind were erased."""

    comments: int
    ip_hashes: int
    flags: int
    likes: int
    subscriptions: int


def export(author: Person) -> Iterator[dict[str, Any]]:
    """Yield all data about an author, as JSON-compatible dicts.

    An item that matches both identifiers of the author is yielded only once.
    """
    seen: set[tuple[str, ...]] = set()
    for item in _written_by(author):
        row = _row(item)
        key = (row["kept_as"], row["discussion"], row["slug"], row["text"])
        if key not in seen:
            seen.add(key)
            yield row
    if author.email:
        for subscription in subscriptions.by_email(author.email):
            yield {"kept_as": "subscription", "discussion": str(subscription.target), "email": subscription.email}
    if author.id:
        for flag in flags.flagged_by(author.id):
            yield {"kept_as": "flag", "discussion": str(flag.target), "slug": flag.slug}
        for target, slug, moment in likes.liked_by(author.id):
            yield {"kept_as": "like", "discussion": str(target), "slug": slug, "posted": moment.isoformat()}
    for query in author.queries():
        for ban in bans.of_author(**query):
            yield {"kept_as": "ban", "banned": ban.value, "reason": ban.reason}
    for target, slug in sorted(_places(author), key=str):
        if ip_hash_value := ip_hash.find(target, slug):
            yield {"kept_as": "network address", "discussion": str(target), "slug": slug, "hash": ip_hash_value}


def erase(author: Person) -> Erased:
    """Permanently erase an author's comments and all other data about the author.

    Replies by other people are kept. If the process crashes during this call, call the function again.
    """
    places = _places(author)
    # An IP hash identifies a network. Therefore, erasing it can also affect flags and rate limits of other people in
    # the same network.
    sent_from = {ip_hash.find(target, slug) for target, slug in places} - {""}
    flagged = sum(flags.erase(ip_hash=hash_value) for hash_value in sent_from)
    for hash_value in sent_from:
        spam.erase_counts(ip_hash=hash_value)
    for query in author.queries():
        bans.erase(**query)
    if author.id:
        spam.erase_counts(user=author.id)
        flagged += flags.erase(user=author.id)
    # Delete the IP hashes before the comments. If the process crashes in between, the comments are still needed to find
    # the remaining hashes.
    return Erased(
        ip_hashes=sum(ip_hash.erase(target, slug) for target, slug in places),
        flags=flagged,
        likes=likes.erase(author.id) if author.id else 0,
        subscriptions=subscriptions.erase(author.email) if author.email else 0,
        comments=erase_author(id=author.id, email=author.email),
    )


def erase_author(*, id: str = "", email: str = "") -> int:
    """Erase the text and author data of all comments that match an account (`id`) or an email address.

    Returns:
        The number of comments that were erased or deleted.
    """
    if not id and not email:
        raise ValueError("Specify an id or an email.")
    return sum(backend().erase_author(**{key: value}) for key, value in (("id", id), ("email", email)) if value)


def count(author: Person) -> int:
    """Return how many comments, queued comments and previous versions `erase` would affect."""
    return sum(row["kept_as"] in ("comment", "queue", "history") for row in export(author))


def _written_by(author: Person) -> Iterator[Comment | HeldComment | ReplacedComment]:
    for query in author.queries():
        yield from selectors.written_by(**query)


def _places(author: Person) -> set[tuple[Target, str]]:
    return {(comment.target, comment.slug) for comment in map(_comment, _written_by(author))}


def _comment(item: Comment | HeldComment | ReplacedComment) -> Comment | HeldComment:
    return item.comment if isinstance(item, ReplacedComment) else item


def _row(item: Comment | HeldComment | ReplacedComment) -> dict[str, Any]:
    comment = _comment(item)
    kept_as = (
        "queue" if isinstance(item, HeldComment) else "history" if isinstance(item, ReplacedComment) else "comment"
    )
    return {
        "kept_as": kept_as,
        "discussion": str(comment.target),
        "slug": comment.slug,
        "posted": comment.posted.isoformat(),
        "name": comment.author.name,
        "url": comment.author.url,
        "moderator": comment.author.is_moderator,
        **picture_of(comment.author),
        "text": comment.source,
        **extra_of(comment),
    }
