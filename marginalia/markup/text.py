"""Functions that turn HTML into plain text and excerpts, and that derive reading times, search extracts and slugs."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from marginalia.markup import tags
from marginalia.markup.characters import IDEOGRAPHS, UNSPACED, is_blank, normalize_for_search, scrub, truncate, unescape

SLUG_LENGTH: Final = 80  # characters

# Elements that start a new line, and elements with an empty line before and after them.
_LINES: Final = tags.tag_set(
    "address article aside br caption center dd details dir div dt fieldset figcaption footer form header hgroup legend"
    " li main menu nav option section summary tr"
)
_PARAGRAPHS: Final = tags.tag_set("blockquote dl figure h1 h2 h3 h4 h5 h6 hr ol p pre table ul")
_LISTS: Final = frozenset({"dl", "ol", "ul"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Elements that are visible even if they contain no text.
_VISIBLE_WITHOUT_TEXT: Final = tags.tag_set("audio embed hr iframe img input math object picture svg video")
# Elements that excerpts skip, because they mean little out of context.
_NO_PROSE: Final = _HEADINGS | {"figcaption", "pre", "table"}
# Matches the numbers of footnote references and the arrows back to the references, which aren't part of the text.
_NOTE_LINKS: Final = re.compile(r'\bclass="footnote-(?:ref|back)"')
_LINKING: Final = frozenset({"a", "sup"})
# Marks the footnotes at the end of a text. Excerpts stop there. Otherwise, the excerpt of a short text would include
# the footnotes.
_NOTES: Final = 'class="footnotes"'
_SPACES: Final = re.compile(r"[ \t\n\r\f]+")

_WORD: Final = re.compile(rf"[{IDEOGRAPHS}]|[^\s{IDEOGRAPHS}]+")
_UNSPACED_CHARACTER: Final = re.compile(f"[{UNSPACED}]")
_IDEOGRAPH: Final = re.compile(f"[{IDEOGRAPHS}]")
_SINGLE: Final = re.compile(f"[{IDEOGRAPHS}{UNSPACED}]")
_LETTERS_IN_UNSPACED_WORD: Final = 5
# A run of more letters than this isn't a word but a URL, a hash or a prank, so it counts as several words.
_MAX_WORD_LENGTH: Final = 40
# Reading speeds. The editor's word count uses the same speeds.
_WORDS_PER_MINUTE: Final = 220
_CHARACTERS_PER_MINUTE: Final = 400
# Diacritics of Latin, Greek, Cyrillic, Hebrew and Arabic letters. In other scripts, such as Japanese or Hindi, a mark
# turns a letter into a different letter.
_ACCENTS: Final = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
_MAX_EXCERPT_SOURCE: Final = 20_000  # characters of HTML, from the start of the text
_MAX_SEARCHED: Final = 200_000  # characters
_MAX_MATCHES: Final = 1_000
_JUDGED_CHARACTERS: Final = 500  # read to determine whether a text is Chinese or Japanese

# Separators, and placeholders that are replaced once the text has been collected. The right separator depends on the
# whole line. The placeholders can't occur in the text itself, because scrub() removes these characters.
_CELLS, _ROWS = " · ", " / "
_LINE: Final = "\x01"
_PARAGRAPH: Final = "\x02"
_TAB: Final = "\x03"
_INDENT: Final = "\x04"


def html_to_text(html: str, most: int | None = None) -> str:
    """Return `html` as plain text with one line per block and empty lines between paragraphs.

    Character references are decoded, scripts and similar elements are omitted, and the lines of `pre` are kept. Table
    cells are separated by tabs. The result isn't HTML, so it can contain "<".

    Args:
        html: Clean HTML.
        most: The approximate number of characters to read. If it is None, the entire text is read.
    """
    return _html_to_text(html, frozenset(), most)


def is_empty(html: str) -> bool:
    """Return whether `html` has no visible content: no visible character and no element such as an image or formula."""
    return not any(
        name in _VISIBLE_WITHOUT_TEXT or not (name or is_blank(unescape(text))) for name, text, _ in tags.tokens(html)
    )


def excerpt(html: str, words: int = 50) -> str:
    """Return the first `words` words of `html` as one line of text, with "…" at the end if anything was omitted.

    Headings, captions, code and tables are skipped, unless there is nothing else. Each Chinese or Japanese character
    counts as one word.
    """
    most = _MAX_EXCERPT_SOURCE + words * _MAX_WORD_LENGTH
    text = _html_to_text(html, _NO_PROSE, most) or html_to_text(html, most)
    text = " ".join(text.split())
    left = words
    for found in _WORD.finditer(text):
        weight = _weight(found[0])
        if weight > left:
            end = found.start() + (len(truncate(found[0], left * _LETTERS_IN_UNSPACED_WORD)) if weight > 1 else 0)
            shown = text[:end].rstrip(" \u3000,;:-–—、，；：")
            return f"{shown} …" if shown.endswith((".", "!", "?")) else f"{shown}…"
        left -= weight
    return text


def highlight(
    text: str, find: Callable[[str], Sequence[tuple[int, int, int]]], around: int = 40, extracts: int = 2
) -> list[tuple[str, bool]]:
    """Return one line with extracts of `text` around search terms, as a list of (piece, whether it is a term) pairs.

    Extracts with many different terms are preferred. If no term is found, the result is the start of the text. Pieces
    are plain text, so the template has to escape them.

    Args:
        text: Plain text.
        find: A function that returns the terms in a line of text, in order, as (start, end, number of the term).
        around: The approximate number of characters to show on either side of a term. Chinese and Japanese characters
            count twice, because they are twice as wide as others. "…" replaces the rest.
        extracts: The maximum number of extracts.
    """
    text = _one_line(scrub(text[:_MAX_SEARCHED]))
    found = find(text)[:_MAX_MATCHES]
    matches = _without_overlaps(found)
    if _is_wide(text):
        around //= 2
    if not matches:
        end = _word_end(text, 4 * around)
        return [(text[:end] + " …" if end < len(text) else text, False)] if text else []
    pieces: list[tuple[str, bool]] = []
    position = 0
    for start, end in _best_windows(list(_windows(text, matches, around)), found, extracts):
        if start > position:
            _add_piece(pieces, " … " if pieces else "… ", marked=False)
        position = start
        for left, right in matches[bisect_left(matches, (start, 0)) :]:
            if right > end:
                break
            _add_piece(pieces, text[position:left], marked=False)
            _add_piece(pieces, text[left:right], marked=True)
            position = right
        _add_piece(pieces, text[position:end], marked=False)
        position = end
    if position < len(text):
        _add_piece(pieces, " …", marked=False)
    return pieces


def _is_wide(text: str) -> bool:
    """Return whether at least half of the letters at the start of `text` are Chinese or Japanese."""
    start = text[:_JUDGED_CHARACTERS]
    return 2 * len(_IDEOGRAPH.findall(start)) >= max(sum(map(str.isalpha, start)), 1)


def _without_overlaps(found: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Return the positions of terms, with overlapping terms joined."""
    joined: list[tuple[int, int]] = []
    for start, end, _number in found:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _best_windows(
    windows: Sequence[tuple[int, int]], found: Sequence[tuple[int, int, int]], most: int
) -> list[tuple[int, int]]:
    """Return up to `most` windows in order. Together, they contain as many different terms as possible."""
    chosen: list[tuple[int, int]] = []
    shown: set[int] = set()
    starts = [start for start, _end, _number in found]
    terms = {
        (start, end): {number for _s, _e, number in found[bisect_left(starts, start) : bisect_left(starts, end)]}
        for start, end in windows
    }
    while terms and len(chosen) < most:
        best = max(terms, key=lambda window: (len(terms[window] - shown), len(terms[window]), -window[0]))
        chosen.append(best)
        shown |= terms.pop(best)
    return sorted(chosen)


def fold(text: str) -> str:
    """Return `text` in the form in which searches compare words: case-folded and without accents.

    The result can be shorter or longer than `text`. For example, combining accents are removed, and "ß" becomes "ss".
    """
    if text.isascii():
        return text.lower().replace("'", "\u2019")
    apart = unicodedata.normalize("NFKD", normalize_for_search(text).casefold())
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", apart))


def reading_minutes(text: str) -> int:
    """Return the reading time of `text` in minutes (at least 1), or 0 if it contains no words.

    Chinese and Japanese text is measured in characters, and text in all other scripts in words.
    """
    characters = words = 0
    for found in _WORD.finditer(text):
        # Thai, for example, has no spaces between words, so a run of letters counts as several words.
        weight = _weight(found[0])
        if _IDEOGRAPH.match(found[0]):
            characters += weight
        else:
            words += weight
    if not characters + words:
        return 0
    return max(round(characters / _CHARACTERS_PER_MINUTE + words / _WORDS_PER_MINUTE), 1)


def slugify(text: str) -> str:
    """Return `text` as a URL segment: lower-case letters and digits of any script, in NFC, with hyphens between words.

    The result has at most SLUG_LENGTH characters. The result ends after a whole word, unless that would remove more
    than half of these characters. If nothing is left, the result is "". The function is idempotent.
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", scrub(text)).lower())
    kept: list[str] = []
    for character in text:
        category = unicodedata.category(character)
        if category[0] in "LN" or (category[0] == "M" and kept and kept[-1] != "-"):
            kept.append(character)
        elif category not in {"Cf", "Cn"} and character not in "'’" or character == "\u200c":
            kept.append("-")
    slug = re.sub("-+", "-", "".join(kept)).strip("-")
    if len(slug) > SLUG_LENGTH:
        head = truncate(slug, SLUG_LENGTH)
        between = head.rfind("-") if slug[len(head)] != "-" else -1
        slug = (head[:between] if between >= SLUG_LENGTH // 2 else head).strip("-")
    return slug


def _html_to_text(html: str, passed_over: frozenset[str], most: int | None) -> str:
    parts: list[str] = []
    hidden = preformatted = lists = length = 0
    link = ""
    for name, text, closing in tags.tokens(scrub(html)):
        step = -1 if closing else 1
        if link:
            link = "" if closing and name == link else link
            continue
        if text and name in _LINKING and not closing and _NOTE_LINKS.search(text):
            link = name
            continue
        if passed_over and name == "div" and _NOTES in text:
            break
        if not name:
            if not hidden:
                parts.append(_preformatted(text) if preformatted else _SPACES.sub(" ", scrub(unescape(text))))
        elif name in _LISTS:
            parts.append(_PARAGRAPH if lists == (1 if closing else 0) else _LINE)
            lists = max(lists + step, 0)
        elif name in _PARAGRAPHS:
            parts.append(_LINE if lists and name != "pre" else _PARAGRAPH)
        elif name in _LINES:
            parts.append(_LINE)
        elif name in {"td", "th"} and not closing:
            parts.append(_TAB)
        if name in passed_over:
            hidden = max(hidden + step, 0)
        if name == "pre":
            preformatted = max(preformatted + step, 0)
        length += 1 if name or hidden else len(text)
        if most is not None and length > most:
            break
    # Each step takes linear time, because runs are joined before the text around them is matched.
    joined = re.sub(f"[ {_TAB}]+", lambda found: "\t" if _TAB in found[0] else " ", "".join(parts))
    joined = re.sub(
        f"[ \t]?[{_LINE}{_PARAGRAPH}][ \t{_LINE}{_PARAGRAPH}]*",
        lambda found: "\n\n" if _PARAGRAPH in found[0] else "\n",
        joined,
    )
    return joined.strip(" \t\n").replace(_INDENT, " ").rstrip()


def _preformatted(text: str) -> str:
    return scrub(unescape(text)).expandtabs(4).replace(" ", _INDENT)


def _one_line(text: str) -> str:
    """Return the plain `text` as one line. Dots separate table cells, and slashes separate table rows.

    If a line without final punctuation (such as a heading) precedes an empty line, a dot is added after it.
    """
    parts: list[str] = []
    between = ""
    for line in text.split("\n"):
        if said := _CELLS.join(filter(None, (" ".join(cell.split()) for cell in line.split("\t")))):
            parts += [between, said]
            between = _ROWS if "\t" in line else " "
        elif between == " " and parts[-1][-1].isalnum():
            between = _CELLS
    return "".join(parts)


def _weight(word: str) -> int:
    """Return the number of words that a run of characters counts as."""
    if not any(map(str.isalnum, word)):
        return 0
    letters = len(word) if len(word) > _MAX_WORD_LENGTH else len(_UNSPACED_CHARACTER.findall(word))
    return max(-(-letters // _LETTERS_IN_UNSPACED_WORD), 1)


def _windows(text: str, matches: Sequence[tuple[int, int]], around: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of `text` around `matches`, cut at word boundaries. Overlapping parts are joined.

    No part is much longer than four times `around`.
    """
    start = end = -1
    for left, right in matches:
        low = _word_start(text, max(left - around, 0), left)
        high = _word_end(text, right + around, right)
        if start >= 0 and (low > end or right > start + 4 * around):
            end = min(end, left)
            yield start, end
            start = -1
            low = max(low, end)
        if start < 0:
            start = low
        end = max(end, high)
    if start >= 0:
        yield start, end


def _word_start(text: str, index: int, limit: int) -> int:
    """Return the position of the first word that starts between `index` and `limit`, or `limit` if there is none.

    In scripts without spaces, a word can start at any character.
    """
    if index <= 0 or text[index - 1] == " ":
        return max(index, 0)
    space = text.find(" ", index, limit)
    return space + 1 if space >= 0 else limit if _SINGLE.match(text, index) is None else index


def _word_end(text: str, index: int, limit: int = 0) -> int:
    """Return the last position between `limit` and `index` at which a word ends."""
    if index >= len(text) or text[index] == " ":
        return min(index, len(text))
    space = text.rfind(" ", limit, index)
    if space > limit:
        return space
    return len(truncate(text, index)) if _SINGLE.match(text, index) or not limit else limit


def _add_piece(pieces: list[tuple[str, bool]], text: str, *, marked: bool) -> None:
    if not text:
        return
    if pieces and not marked and not pieces[-1][1]:
        pieces[-1] = (pieces[-1][0] + text, False)
    else:
        pieces.append((text, marked))
