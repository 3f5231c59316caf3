"""Terms, by which comments in all layouts are searched, compared and banned.

A term is a string of the form "kind:value": a word, the author's name, account or email address, the domain of the
email address or of a link, or the hash of a shingle (three words in a row). Each comment has a list of terms, which one
index covers. A search and a ban are therefore the same query: for comments that contain all of the given terms.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from html import unescape
from urllib.parse import unquote, urlsplit

from marginalia.comments.types import TermKind as Kind
from marginalia.markup import scripts, text
from marginalia.markup.characters import scrub

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
# For www.a.example, a.example is also stored. Parent domains have at most this many labels.
MAX_LABELS = 5
MAX_LABEL = 63
_WORD = re.compile(r"[^\W_]+")
# Cyrillic and Greek letters, folded, that look like Latin letters.
_LOOKALIKES = str.maketrans(
    "\u0430\u0432\u0441\u0501\u0435\u050d\u04bb\u0456\u0458\u043a\u04cf\u043c\u043d\u043e"
    "\u0440\u051b\u0433\u0455\u0442\u0443\u0475\u051d\u0445"
    "\u03b1\u03b2\u03b3\u03b5\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03c9",
    "abcdeghijklmhopqrstyvwxabyenikvoptuxw",
)
_SLASHES = re.compile(r"^(?:https?:[/\\]*|[/\\]{2,})", re.IGNORECASE)
_HREF = re.compile(r'<a\s[^>]*?href="([^"]*)"', re.IGNORECASE)


def of_comment(*, name: str, account: str, email: str, source: str, html: str, are_all: bool = False) -> list[str]:
    """Return the terms of a comment.

    Args:
        name: The author's name.
        account: The primary key of the author's account, or "".
        email: The author's email address, or "".
        source: The text as typed.
        html: The text as sanitized HTML, from which the links are read.
        are_all: Whether to return the terms of all words and links, for a comparison with bans. Otherwise, only
            MAX_WORDS and MAX_LINKS are read, because these terms are stored.
    """
    words = split(source)
    return list(
        dict.fromkeys(
            (
                *_of_author(name, account, email),
                *map(Kind.LINK_DOMAIN.term, link_domains(html, None if are_all else MAX_LINKS)),
                *map(Kind.SHINGLE.term, _sketch(words)),
                *map(Kind.WORD.term, list(dict.fromkeys(words))[: None if are_all else MAX_WORDS]),
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
        yield from map(Kind.EMAIL_DOMAIN.term, _domain_and_parents(normalize_domain(email.rpartition("@")[2])))


def fold_name(name: str) -> str:
    """Return a name in the form in which names are compared."""
    return " ".join(fold(name).split())


def fold(source: str) -> str:
    """Return a text in the form in which its words are compared: case-folded, without accents and lookalikes.

    Letters that only look like Latin letters are replaced in words that also contain Latin letters.
    """
    folded = text.fold(scrub(source))
    return folded if folded.isascii() else _WORD.sub(_without_lookalikes, folded)


def _without_lookalikes(match: re.Match[str]) -> str:
    word = match[0]
    return word.translate(_LOOKALIKES) if any(map(str.isascii, word)) else word


def split(source: str) -> list[str]:
    """Return the words of a text in the form in which they are compared, in the order of the text.

    Scripts without spaces have no words. Each pair of adjacent characters is a word instead.
    """
    folded = fold(source)
    if folded.isascii():
        return [word[:MAX_WORD] for word in _WORD.findall(folded)]
    words = [word[:MAX_WORD] for word in _WORD.findall(scripts.blank_unspaced(folded))]
    return [*words, *(piece for piece in scripts.unspaced_pieces(folded, 2) if len(piece) == 2)]


def link_domains(html: str, most: int | None = MAX_LINKS) -> list[str]:
    """Return the domains of the first `most` links in sanitized HTML, each with its parent domains."""
    return list(dict.fromkeys(domain for host in link_hosts(html, most) for domain in _domain_and_parents(host)))


def link_hosts(html: str, most: int | None = MAX_LINKS) -> Iterator[str]:
    """Yield the host names of the first `most` links in sanitized HTML."""
    for href in _HREF.findall(html)[:most]:
        try:
            # Browsers also accept other numbers of slashes, and encoded characters.
            host = unquote(urlsplit(_SLASHES.sub("//", unescape(href))).hostname or "")
        except ValueError:  # the URL is malformed, so it leads nowhere
            continue
        yield normalize_domain(host)


def normalize_domain(domain: str) -> str:
    """Return a domain in the form in which domains are compared: in lower case, and with Punycode."""
    folded = unicodedata.normalize("NFKC", domain).lower().replace("\u3002", ".")
    return ".".join(map(_punycode, folded.strip(".").split(".")))


def _punycode(label: str) -> str:
    # Longer labels don't exist, and encoding them would take long.
    return label if label.isascii() or len(label) > MAX_LABEL else f"xn--{label.encode('punycode').decode()}"


def _domain_and_parents(domain: str) -> list[str]:
    """Return a normalized domain, and its parent domains with up to MAX_LABELS labels."""
    labels = domain.split(".")
    parents = (".".join(labels[start:]) for start in range(max(len(labels) - MAX_LABELS, 1), len(labels) - 1))
    return [domain, *parents] if domain else []


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
