"""Read what a person typed in a search field, including quotes, `-word`, `tag:`, `author:` and `in:`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from marginalia.markup import scripts
from marginalia.markup.characters import normalize_for_search
from nodes.search import words

LONGEST: Final = 200
MAX_WORDS: Final = 10
_QUOTES: Final = str.maketrans(dict.fromkeys("“”„‟«»＂", '"') | {"：": ":"})
_PART: Final = re.compile(
    r'(?<!\S)(?P<no>-)?(?:(?P<operator>tag|author|in):)?(?:"(?P<quoted>[^"]*)"?|(?P<plain>\S+))', re.IGNORECASE
)


@dataclass(frozen=True)
class Criteria:
    """What pages must contain, or what they must not contain.

    Attributes:
        words: Words in lower case. The words in quotes are included if pages must contain them.
        phrases: The quoted phrases, as sequences of folded words.
        tags, authors, sections: The values of the operators `tag:`, `author:` and `in:`.
    """

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()


@dataclass(frozen=True)
class Query:
    """A search query.

    Attributes:
        text: The query as typed, without leading and trailing spaces.
        required: What pages must contain.
        excluded: What pages must not contain.
    """

    text: str
    required: Criteria
    excluded: Criteria

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search for."""
        return self.required == Criteria()


def parse(typed: str) -> Query:
    """Parse a query. Any text is a valid query."""
    typed = typed[:LONGEST].replace("\x00", "").strip()
    parts = list(_PART.finditer(typed.translate(_QUOTES)))
    required = [part for part in parts if not part["no"]]
    excluded = [part for part in parts if part["no"]]
    return Query(typed, _criteria(required, split_phrases=True), _criteria(excluded, split_phrases=False))


def _criteria(parts: Iterable[re.Match[str]], *, split_phrases: bool) -> Criteria:
    """Return the criteria for parts of a query. Parts without words are ignored.

    Args:
        parts: Matches of _PART.
        split_phrases: Whether the words in phrases are criteria, too.
    """
    found: dict[str, list[str]] = {"": [], "tag": [], "author": [], "in": []}
    phrases = []
    for part in parts:
        value = part["plain"] if part["quoted"] is None else part["quoted"]
        in_part = split(value)
        is_phrase = part["quoted"] is not None and len(in_part) > 1
        if part["operator"]:
            found[part["operator"].lower()] += [value] if in_part else []
            continue
        if is_phrase:
            phrases.append(tuple(words.fold(word) for word in in_part))
        if split_phrases or not is_phrase:
            found[""] += in_part
    all_words, *operators = (tuple(dict.fromkeys(values))[:MAX_WORDS] for values in found.values())
    return Criteria(all_words, tuple(phrases), *operators)


def split(typed: str) -> list[str]:
    """Return the words in `typed` in lower case.

    A run of characters in a script without spaces is a single word. Parts of words that consist of a single letter
    aren't words: "l'arbre" becomes "arbre", and "e-mail" becomes "email".
    """
    typed = normalize_for_search(typed)
    found: list[tuple[int, str]] = []
    before = words.Token(-2, -2, "")
    for token in words.tokens(typed):
        spellings = words.spellings(token.word)
        if words.is_compound(typed, before.end, token.start) and 1 in (len(before.word), len(token.word)):
            found[-1:] = [(before.start, words.spellings(before.word + token.word)[-1])]
        else:
            found += [(token.start, part) for part in spellings[:-1] or spellings]
        before = token
    found += [(run.start(), run[0]) for run in scripts.find_unspaced(typed)]
    return [word for _start, word in sorted(found)]
