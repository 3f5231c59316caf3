"""What is kept of one author, found and erased wherever it is: comments of every layout, queue, history, ip hashes, flags,
subscriptions, counts of the rate limit. Jobs and logs of comments hold ids, never a name, an address or a text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from marginalia.comments.backends import backend
from marginalia.comments.notices import subscriptions
from marginalia.comments.posting import flags, ip_hash, spam
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, Held, Replaced, Target


@dataclass(frozen=True)
class Person:
    """Who is meant: a user's primary key as a str, an e-mail address, or both."""

    id: str = ""
    email: str = ""

    def queries(self) -> list[dict[str, str]]:
        """Return what to ask the back end for, one by one."""
        return [{name: value} for name, value in (("id", self.id), ("email", self.email)) if value]


@dataclass(frozen=True)
class Erased:
    """How much was erased."""

    comments: int
    ip_hashes: int
    flags: int
    subscriptions: int


def export(author: Person) -> Iterator[dict[str, Any]]:
    """Yield all that is kept of an author, as what can be written as JSON; what is found under both keys comes once."""
    seen: set[tuple[str, ...]] = set()
    for found in _written_by(author):
        row = _row(found)
        key = (row["kept_as"], row["discussion"], row["slug"], row["text"])
        if key not in seen:
            seen.add(key)
            yield row
    if author.email:
        for subscription in subscriptions.of(author.email):
            yield {"kept_as": "subscription", "discussion": str(subscription.target), "email": subscription.email}
    if author.id:
        for flag in flags.by(author.id):
            yield {"kept_as": "flag", "discussion": str(flag.target), "slug": flag.slug}
    for target, slug in sorted(_places(author), key=str):
        if hashed := ip_hash.of_comment(target, slug):
            yield {"kept_as": "network address", "discussion": str(target), "slug": slug, "hash": hashed}


def erase(author: Person) -> Erased:
    """Erase an author without a way back; what others answered stays. May be repeated after a crash."""
    places = _places(author)
    # What is known by an ip hash alone: that of a household, so that other readers may lose a count or a flag's name.
    sent_from = {ip_hash.of_comment(target, slug) for target, slug in places} - {""}
    flagged = sum(flags.erase(ip_hash=one) for one in sent_from)
    for one in sent_from:
        spam.forget(ip_hash=one)
    if author.id:
        spam.forget(user=author.id)
        flagged += flags.erase(user=author.id)
    # The hashes go before the comments: by these they are found, should it be done again after a crash.
    return Erased(
        ip_hashes=sum(ip_hash.erase(target, slug) for target, slug in places),
        flags=flagged,
        subscriptions=subscriptions.erase(author.email) if author.email else 0,
        comments=erase_author(id=author.id, email=author.email),
    )


def erase_author(*, id: str = "", email: str = "") -> int:
    """Blank all that was written by a user (by key) or under an e-mail address; return how many comments that were."""
    if not id and not email:
        raise ValueError("Say whose comments to erase.")
    return sum(backend().erase_author(**{key: value}) for key, value in (("id", id), ("email", email)) if value)


def count(author: Person) -> int:
    """Return how many comments, queued ones and replaced texts there are: what `erase` would blank or delete."""
    return sum(row["kept_as"] in ("comment", "queue", "history") for row in export(author))


def _written_by(author: Person) -> Iterator[Comment | Held | Replaced]:
    for query in author.queries():
        yield from selectors.written_by(**query)


def _places(author: Person) -> set[tuple[Target, str]]:
    return {(one.target, one.slug) for one in map(_comment, _written_by(author))}


def _comment(found: Comment | Held | Replaced) -> Comment | Held:
    return found.comment if isinstance(found, Replaced) else found


def _row(found: Comment | Held | Replaced) -> dict[str, Any]:
    one = _comment(found)
    kept_as = "queue" if isinstance(found, Held) else "history" if isinstance(found, Replaced) else "comment"
    return {
        "kept_as": kept_as,
        "discussion": str(one.target),
        "slug": one.slug,
        "posted": one.posted.isoformat(),
        "name": one.author.name,
        "url": one.author.url,
        "moderator": one.author.is_moderator,
        "text": one.source,
    }
