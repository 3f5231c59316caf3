"""Functions that add a language's typographic quotation marks, apostrophes, dashes and ellipses when text is shown.

The stored text remains as typed, and code isn't changed. Text is processed in one pass.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from marginalia.markup import tags

_NARROW_SPACE: Final = "\u202f"
_ENGLISH_MARKS: Final = ("“", "”", "‘", "’")
# The double and single quotation marks (opening and closing) for each language. Other languages use the English marks.
_MARKS: Final = {
    "cs": ("„", "“", "‚", "‘"),
    "de": ("„", "“", "‚", "‘"),
    "de-ch": ("«", "»", "‹", "›"),
    "es": ("«", "»", "“", "”"),
    "fi": ("”", "”", "’", "’"),
    "fr": (f"«{_NARROW_SPACE}", f"{_NARROW_SPACE}»", "“", "”"),
    "it": ("«", "»", "“", "”"),
    "pl": ("„", "”", "«", "»"),
    "ru": ("«", "»", "„", "“"),
    "sv": ("”", "”", "’", "’"),
    "uk": ("«", "»", "„", "“"),
}
_SIGNS: Final = re.compile(r"[\"']|-{2,}|\.{3,}")
# Matches the signs in French text, and the spaces that become non-breaking: before some punctuation marks, and after «.
_FRENCH: Final = re.compile(_SIGNS.pattern + r"|[ ](?=[:;!?»])|(?<=«)[ ]")
_APOSTROPHE: Final = "’"
_OPENING: Final = frozenset("([{<«‹“„‘‚—–-/\u00a1\u00bf")
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_ADDRESS: Final = re.compile(r"https?://|www\.|\S+@")
_TAG: Final = re.compile(r"(<[^<>]*>)")
_NAME: Final = re.compile(r"<(/?)([a-z0-9]+)")
_VERBATIM: Final = tags.tag_set("code kbd math pre samp var")
# Elements that continue the current line. All other elements start a new line.
_INLINE: Final = _VERBATIM - {"pre"} | tags.tag_set(
    "a abbr b bdi bdo br cite del dfn em i img ins mark q rp rt ruby s small span strong sub sup time u wbr"
)


class _Sign(NamedTuple):
    """A punctuation mark in a line, with the characters before and after it ("" at the ends of the line)."""

    at: int
    typed: str
    before: str
    after: str


# The cache also distinguishes types, so that a SafeString is never returned for a plain string with the same text.
@lru_cache(maxsize=4096, typed=True)
def smarten(text: str, language: str) -> str:
    """Return a line of text, such as a title, with the punctuation of `language` ("fr", "de-at").

    Results are cached in this process.
    """
    return smarten_pieces([text], language)[0]


def smarten_html(html: str, language: str) -> str:
    """Return clean HTML with the punctuation of `language`, except in code and in links whose text is a URL."""
    parts = _TAG.split(html)
    line: list[int] = []
    kept = 0
    for at, part in enumerate(parts):
        if at % 2 == 0:
            if part and not kept and not (at and parts[at - 1].startswith("<a ") and _ADDRESS.match(part)):
                line.append(at)
            continue
        found = _NAME.match(part)
        name = found[2] if found else ""
        if name in _VERBATIM:
            kept += -1 if found and found[1] else 1
        if name not in _INLINE:
            _set_line(parts, line, language)
            line = []
    _set_line(parts, line, language)
    return "".join(parts)


def _set_line(parts: list[str], line: list[int], language: str) -> None:
    for at, written in zip(line, smarten_pieces([parts[at] for at in line], language), strict=True):
        parts[at] = written


def smarten_pieces(texts: Sequence[str], language: str) -> list[str]:
    """Return the pieces of one line with the punctuation of `language`.

    A quotation can open in one piece and close in another.
    """
    signs = _FRENCH if language[:2] == "fr" else _SIGNS
    found = [[*signs.finditer(text)] for text in texts]
    if not any(found):
        return list(texts)
    marks = _MARKS.get(language.lower()) or _MARKS.get(language[:2].lower()) or _ENGLISH_MARKS
    written = _replace_signs([*_find_signs(texts, found)], marks)
    result: list[str] = []
    for text, matches in zip(texts, found, strict=True):
        position = 0
        parts = []
        for match in matches:
            parts += [text[position : match.start()], next(written)]
            position = match.end()
        result.append("".join([*parts, text[position:]]))
    return result


def _find_signs(texts: Sequence[str], found: Sequence[Sequence[re.Match[str]]]) -> Iterator[_Sign]:
    line = "".join(texts)
    begin = 0
    for text, matches in zip(texts, found, strict=True):
        for match in matches:
            at = begin + match.start()
            end = begin + match.end()
            before = " " if line.endswith("&nbsp;", 0, at) else line[at - 1 : at] if at else ""
            yield _Sign(at, match[0], before, line[end : end + 1])
        begin += len(text)


def _replace_signs(signs: Sequence[_Sign], marks: tuple[str, str, str, str]) -> Iterator[str]:
    """Yield the replacement for each punctuation mark in a line, in order."""
    written = [sign.typed for sign in signs]
    opened: list[tuple[str, int]] = []
    count: Counter[str] = Counter()
    begun = -1  # the position after an opening mark or an apostrophe, where a quotation can begin
    for number, sign in enumerate(signs):
        typed = sign.typed
        before = sign.before
        after = sign.after
        if typed not in "\"'":
            written[number] = _replace_sign(sign)
            continue
        single = 2 * (typed == "'")
        may_open = bool(after.strip()) and (not before.strip() or before in _OPENING)
        may_open = may_open or (begun == sign.at and after.isalnum())
        if typed == "'" and before.isalnum() and after.isalnum() and not _UNSPACED.search(before + after):
            written[number] = _APOSTROPHE
            begun = sign.at + 1
        elif count[typed] and not may_open and before.strip():
            _close(opened, count, typed, written)
            written[number] = marks[single + 1]
        elif typed == "'" and (after.isdigit() if may_open else before.isalpha()):
            written[number] = _APOSTROPHE
            begun = sign.at + 1
        elif may_open or _UNSPACED.search(before + after):
            opened.append((typed, number))
            count[typed] += 1
            written[number] = marks[single]
            begun = sign.at + 1
    _close(opened, count, "", written)
    return iter(written)


def _close(opened: list[tuple[str, int]], count: Counter[str], typed: str, written: list[str]) -> None:
    """Close the open quotation marks, back to the last mark that equals `typed`.

    Single marks that were never closed become apostrophes, as in ’tis.
    """
    while opened:
        other, number = opened.pop()
        count[other] -= 1
        if other == typed:
            return
        if other == "'":
            written[number] = _APOSTROPHE


def _replace_sign(sign: _Sign) -> str:
    """Return the replacement for a space, dots or dashes."""
    typed = sign.typed
    if typed == " ":
        return "\u00a0" if sign.after == ":" else _NARROW_SPACE
    if typed == "...":
        return "…"
    # A word such as "--force" is a command-line option, so its dashes aren't replaced.
    if typed[0] == "." or len(typed) > 3 or (not sign.before.strip() and sign.after.isalnum()):
        return typed
    return "–" if len(typed) == 2 else "—"
