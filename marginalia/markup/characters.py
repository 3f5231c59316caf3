"""Functions that remove unwanted characters and decode character references safely."""

import html
import re
import unicodedata
from typing import Final

# Parts of character classes for scripts without spaces between words. In the scripts in IDEOGRAPHS, one character is
# about one word. In the other scripts, one character is one letter.
IDEOGRAPHS: Final = (
    "\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003ffff"
)
UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"

# Zero-width characters inside words: soft hyphens, joiners, direction marks, tags, variation selectors.
_ZERO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
# The typewriter apostrophe, quotation marks that are used as apostrophes, and letters that look like an apostrophe.
_APOSTROPHES = re.compile("['\u2018\u201b\u02bb\u02bc\uff07]")

# Matches control characters that XML forbids, C1 controls and noncharacters. It also matches bidirectional embeddings,
# overrides and isolates, which can reverse the text after them ("Trojan Source", CVE-2021-42574). The marks U+200E,
# U+200F and U+061C aren't included, because they affect only the text next to them.
_UNWANTED = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
# Matches all characters except white space, controls, code points that programs should ignore
# (Default_Ignorable_Code_Point), annotation marks, and two symbols without a visible glyph: the blank Braille pattern
# and the null notehead.
_VISIBLE = re.compile(
    "[^\\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Matches character references with too many digits. Code points have at most seven digits. int() rejects more than
# 4,300 digits, so html.unescape would raise an exception for such a reference.
_LONG_REFERENCE = re.compile(r"&#\d{8,}+;?|&#[xX][0-9a-fA-F]{8,}+;?")


def is_blank(text: str) -> bool:
    """Return whether `text` is empty or contains only white space, control characters and invisible characters."""
    return not _VISIBLE.search(text)


def scrub(text: str) -> str:
    """Return `text` without characters that no page should contain: control characters and bidirectional overrides.

    A lone surrogate can't be encoded, so it becomes U+FFFD. A form feed becomes a space. Tabs and line breaks are kept.
    The function is idempotent.
    """
    if _SURROGATE.search(text):
        text = _SURROGATE.sub("\ufffd", text)
    return _UNWANTED.sub("", text).replace("\x0c", " ")


def normalize_for_search(text: str) -> str:
    """Return `text` normalized for comparing words, with one kind of apostrophe and no zero-width characters."""
    return _APOSTROPHES.sub("\u2019", _ZERO_WIDTH.sub("", text))


def unescape(text: str) -> str:
    """Return `text` with character references decoded, as html.unescape does, but without raising an exception."""
    if "&" not in text:
        return text
    return html.unescape(_LONG_REFERENCE.sub("\ufffd", text))


def normalize_newlines(text: str) -> str:
    """Return `text` with CRLF (which browsers send) and CR replaced by LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def truncate(text: str, length: int) -> str:
    """Return `text` truncated to at most `length` characters.

    Letters are never separated from their combining marks, and emoji sequences are never split.
    """
    if len(text) <= length:
        return text
    end = max(length, 0)
    while end > 0 and _continues(text, end):
        end -= 1
    # A single sequence that is longer than the limit, such as a letter with many combining marks, is split anyway.
    return text[: end or max(length, 0)]


def _continues(text: str, index: int) -> bool:
    """Return whether the character at `index` belongs to the preceding character."""
    character = text[index]
    before = text[index - 1]
    return (
        unicodedata.category(character) in {"Mn", "Me", "Mc"}
        or character in "\u200d\ufe0e\ufe0f"
        or before == "\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags in flags of regions
        or ("\U0001f1e6" <= character <= "\U0001f1ff" and _follows_odd_indicators(text, index))
    )


def _follows_odd_indicators(text: str, index: int) -> bool:
    """Return whether an odd number of regional indicators precedes `index`.

    If so, the indicator at `index` completes a flag.
    """
    start = index
    while start > 0 and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
        start -= 1
    return (index - start) % 2 == 1
