"""Terms, by which comments in all layouts are searched, compared and banned.

A term is a string of the form "kind:value": a word, the author's name, account or email address, the domain of the
email address or of a link, or the hash of a shingle (three words in a row). Each comment has a list of terms, which one
index covers. A search and a ban are therefore the same query: for comments that contain all of the given terms.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from html import unescape
from urllib.parse import urlsplit

from marginalia.comments.types import TermKind as Kind
from marginalia.markup import scripts, text

# The terms of a comment contain at most this many different words, and only the beginnings of longer words.
MAX_WORDS = 400
MAX_WORD = 40
MAX_LINKS = 20
# Only the beginning of a longer pattern is used.
MAX_PATTERN = 200
SHINGLE = 3
# Two comments are alike if they share at least ALIKE of the SKETCH smallest hashes of their shingles. This estimates
# how many of their shingles are the same (min-wise hashing, Broder 1997).
SKETCH = 16
ALIKE = 0.5
# How many labels of a domain name are stored: for www.a.example, also a.example.
MAX_LABELS = 5
_WORD = re.compile(r"[^\W_]+")
_HREF = re.compile(r'<a\s[^>]*?href="([^"]*)"', re.IGNORECASE)


def of_comment(*, name: str, account: str, email: str, source: str, html: str) -> list[str]:
    """Return the terms of a comment.

    Args:
        name: The author's name.
        account: The primary key of the author's account, or "".
        email: The author's email address, or "".
        source: The text as typed.
        html: The text as sanitized HTML, from which the links are read.
    """
    words = split(source)
    return list(
        dict.fromkeys(
            (
                *_of_author(name, account, email),
                *map(Kind.LINK_DOMAIN.term, link_domains(html)),
                *map(Kind.SHINGLE.term, _sketch(words)),
                *map(Kind.WORD.term, list(dict.fromkeys(words))[:MAX_WORDS]),
            )
        )
    )


def _of_author(name: str, account: str, email: str) -> Iterator[str]:
    if folded := fold_name(name):
        yield Kind.NAME.term(folded)
    if account:
        yield Kind.ACCOUNT.term(account)
    if email:
        yield Kind.EMAIL.term(email.lower())
        yield from map(Kind.EMAIL_DOMAIN.term, _domain_and_parents(email.lower().rpartition("@")[2]))


def fold_name(name: str) -> str:
    """Return a name in the form in which names are compared."""
    return " ".join(text.fold(name).split())


def split(source: str) -> list[str]:
    """Return the words of a text in the form in which they are compared, in the order of the text.

    Scripts without spaces have no words. Each pair of adjacent characters is a word instead.
    """
    folded = text.fold(source)
    if folded.isascii():
        return [word[:MAX_WORD] for word in _WORD.findall(folded)]
    words = [word[:MAX_WORD] for word in _WORD.findall(scripts.blank_unspaced(folded))]
    return [*words, *(piece for piece in scripts.unspaced_pieces(folded, 2) if len(piece) == 2)]


def link_domains(html: str) -> list[str]:
    """Return the domains of the links in sanitized HTML, each with its parent domains."""
    return list(dict.fromkeys(domain for host in link_hosts(html) for domain in _domain_and_parents(host)))


def link_hosts(html: str) -> Iterator[str]:
    """Yield the host names of the first MAX_LINKS links in sanitized HTML."""
    for href in _HREF.findall(html)[:MAX_LINKS]:
        try:
            host = urlsplit(unescape(href)).hostname or ""
        except ValueError:  # the URL is malformed, so it leads nowhere
            continue
        yield host.lower().rstrip(".")


def _domain_and_parents(domain: str) -> list[str]:
    labels = domain.split(".")[-MAX_LABELS:]
    return [".".join(labels[start:]) for start in range(max(len(labels) - 1, 1)) if labels[-1]]


def _sketch(words: list[str]) -> list[str]:
    """Return the smallest hashes of the shingles of a text."""
    shingles = {" ".join(words[start : start + SHINGLE]) for start in range(max(len(words) - SHINGLE + 1, 1))} - {""}
    hashes = (blake2b(shingle.encode(), digest_size=6).hexdigest() for shingle in shingles)
    return sorted(hashes)[:SKETCH]


def values(terms: Iterable[str], kind: Kind) -> list[str]:
    """Return the values of the terms of one kind."""
    return [term.partition(":")[2] for term in terms if term.startswith(f"{kind}:")]


@dataclass(frozen=True)
class Pattern:
    """Words that a comment must contain. A word that ends with * stands for all words that begin with it."""

    words: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    @classmethod
    def parse(cls, typed: str) -> "Pattern":
        """Return the pattern for words that are separated by spaces, such as "cheap casino*"."""
        words = dict[str, None]()
        prefixes = dict[str, None]()
        for piece in typed[:MAX_PATTERN].split():
            found = split(piece)
            if found and piece.endswith("*"):
                prefixes[found.pop()] = None
            words.update(dict.fromkeys(found))
        return cls(tuple(words), tuple(prefixes))

    def __str__(self) -> str:
        return " ".join((*self.words, *(f"{prefix}*" for prefix in self.prefixes)))

    def __bool__(self) -> bool:
        return bool(self.words or self.prefixes)

    @property
    def longest(self) -> int:
        """Return the number of characters of the longest word."""
        return max(map(len, (*self.words, *self.prefixes)), default=0)

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether a text with these words, which must be sorted, contains all words of the pattern."""

        def next_word(typed: str) -> str:
            at = bisect_left(words, typed)
            return words[at] if at < len(words) else ""

        return all(next_word(word) == word for word in self.words) and all(
            next_word(prefix).startswith(prefix) for prefix in self.prefixes
        )
