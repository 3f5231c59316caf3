"""Read what a person typed in a search field, including quotes, `-word`, `tag:`, `author:` and `in:`."""

import re
from dataclasses import dataclass
from typing import Final

from marginalia.markup import scripts
from marginalia.markup.characters import normalize_for_search
from nodes.search import words

LONGEST: Final = 200
MAX_WORDS: Final = 10
_QUOTES: Final = str.maketrans(dict.fromkeys("“”„‟«»＂", '"') | {"：": ":"})
_PART: Final = re.compile(r'(?<!\S)(?P<no>-)?(?:(?P<operator>tag|author|in):)?(?:"(?P<quoted>[^"]*)"?|(?P<plain>\S+))')


@dataclass(frozen=True)
class Query:
    """A search query.

    Attributes:
        text: The query as typed, without leading and trailing spaces.
        words: The words to find, in lower case, including the words in quotes.
        phrases: The quoted phrases, as sequences of folded words.
        excluded: Words that pages must not contain.
        tags, authors, sections: The values of the operators `tag:`, `author:` and `in:`.
    """

    text: str = ""
    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search for."""
        return not (self.words or self.tags or self.authors or self.sections)


def parse(typed: str) -> Query:
    """Parse a query. Any text is a valid query."""
    typed = typed[:LONGEST].replace("\x00", "").strip()
    found: dict[str, list[str]] = {"words": [], "excluded": [], "tag": [], "author": [], "in": []}
    phrases = []
    for part in _PART.finditer(typed.translate(_QUOTES)):
        value = part["quoted"] if part["quoted"] is not None else part["plain"]
        if part["no"]:
            found["excluded"] += split(value)
        elif part["operator"]:
            found[part["operator"]].append(value)
        else:
            in_part = split(value)
            found["words"] += in_part
            if part["quoted"] is not None and len(in_part) > 1:
                phrases.append(tuple(words.fold(word) for word in in_part))
    return Query(
        typed,
        tuple(dict.fromkeys(found["words"]))[:MAX_WORDS],
        tuple(phrases),
        tuple(found["excluded"][:MAX_WORDS]),
        *(tuple(filter(None, found[name][:MAX_WORDS])) for name in ("tag", "author", "in")),
    )


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
        if words.is_compound(typed, before, token) and 1 in (len(before.word), len(token.word)):
            found[-1:] = [(before.start, words.spellings(before.word + token.word)[-1])]
        else:
            found += [(token.start, part) for part in spellings[:-1] or spellings]
        before = token
    found += [(run.start(), run[0]) for run in scripts.find_unspaced(typed)]
    return [word for _start, word in sorted(found)]
