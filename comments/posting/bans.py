"""Bans, which moderators put on accounts, networks, email addresses, domains and words.

A banned comment is refused when it is sent, and its author sees the form again with the text.
"""

from collections.abc import Sequence

from marginalia.comments import terms
from marginalia.comments.backends import backend
from marginalia.comments.types import Ban, TermKind

# The kinds of bans on what comments contain, rather than on who writes them.
OF_CONTENT = (TermKind.LINK_DOMAIN, TermKind.PATTERN)
KINDS = (TermKind.ACCOUNT, TermKind.NETWORK, TermKind.EMAIL, TermKind.EMAIL_DOMAIN, *OF_CONTENT)


def find(found: Sequence[str]) -> Ban | None:
    """Return the ban that applies to a comment with these terms, or None if there is none."""
    bans = backend().bans.matching([term for term in found if term.partition(":")[0] in KINDS])
    words = sorted(terms.values(found, TermKind.WORD))
    return next((ban for ban in bans if ban.kind is not TermKind.PATTERN or _matches(ban, words)), None)


def _matches(ban: Ban, words: Sequence[str]) -> bool:
    return terms.Pattern.parse(ban.value).matches(words)


def of_person(*, id: str = "", email: str = "") -> list[str]:
    """Return the terms that identify a person."""
    return [kind.term(value) for kind, value in ((TermKind.ACCOUNT, id), (TermKind.EMAIL, email.lower())) if value]


def erase(*, id: str = "", email: str = "") -> int:
    """Delete the bans of an account or an email address, and the account from the bans that it made.

    Return how many bans were deleted.
    """
    if id:
        backend().bans.forget_moderator(id)
    return backend().bans.erase(of_person(id=id, email=email))


def of_author(*, id: str = "", email: str = "") -> list[Ban]:
    """Return the bans of an account or an email address."""
    banned = of_person(id=id, email=email)
    return [ban for ban in backend().bans.matching(banned) if ban.term in banned]
