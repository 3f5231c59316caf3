"""Reads the bytes of an export as text that XML can carry.

WordPress, its plugins and PHP write exports that no XML parser accepts: notices around the document, forbidden
characters, bytes of another encoding, entities of HTML. Each is repaired here, counted and reported.
"""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.entities import html5
from typing import BinaryIO

from wordpress.export.records import WxrError

__all__ = ["Repairs", "pieces"]

CHUNK = 32 * 1024

_START = re.compile(r"<\?xml[ \t\r\n]|<!DOCTYPE|<rss[ \t\r\n>]", re.IGNORECASE)
_DECLARATION = re.compile(r"<\?xml[^>]*\?>", re.IGNORECASE)
_ENCODING = re.compile(rb"<\?xml[^>]*\bencoding\s*=\s*[\"']([^\"']{1,40})[\"']", re.IGNORECASE)
_UTF_8 = re.compile("utf-?8|(?:us-)?ascii", re.IGNORECASE)
_OTHERS = re.compile(
    r"iso-8859-\d{1,2}|latin-?1|windows-125\d|cp125\d|koi8-[ru]|big5|gb2312|gbk|gb18030|euc-(?:jp|kr)|shift_jis",
    re.IGNORECASE,
)

# Sequences that programs write for UTF-8: a character beyond the first 65,536 as two surrogates, a zero byte, and what
# names no character or names one with too many bytes.
_WRONG = re.compile(
    rb"(?P<pair>\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf])|(?P<zero>\xc0\x80)"
    rb"|(?P<odd>[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f][\x80-\xbf]|\xf0[\x80-\x8f][\x80-\xbf]{2}"
    rb"|\xed[\xa0-\xbf][\x80-\xbf])|[\x80-\xff]"
)
# Python decodes a byte that is no UTF-8 into one of these.
_ESCAPED = re.compile("[\udc80-\udcff]+")
# The last character of a piece may continue in the next one.
_CUT = re.compile(rb"(?:\xed[\xa0-\xaf][\x80-\xbf])?[\xc0-\xff][\x80-\xbf]{0,3}\Z")
_UNFINISHED = re.compile(r"(?:&[#\w]{0,40}|<[!\[A-Z]{0,8}|\]{1,2})\Z")

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_MARKUP = re.compile(r"<!\[CDATA\[|&(?:#(\d{1,9}|[xX][0-9a-fA-F]{1,8});|(\w{1,40});)?")
_XML_ENTITIES = frozenset({"lt", "gt", "amp", "quot", "apos"})

FORBIDDEN = "Characters that XML forbids, left out"
FOREIGN = "Bytes that are not UTF-8, read as Windows-1252"
ODD = "Wrong UTF-8, replaced or left out"
AMPERSANDS = "Ampersands that begin no entity, read as text"
BEFORE = "Skipped in front of the document"
AFTER = "Skipped after the end of the document"


@dataclass(slots=True)
class Repairs:
    """Counts of what was repaired, by kind, and the line where each kind came first."""

    counts: Counter[str] = field(default_factory=Counter)
    lines: dict[str, int] = field(default_factory=dict)

    def count(self, kind: str, line: int, text: str = "", at: int = 0, *, number: int = 1) -> None:
        """Count some repairs of a kind, the first of them `at` a place in `text`, which begins on `line`."""
        self.counts[kind] += number
        if kind not in self.lines:
            self.lines[kind] = line + text.count("\n", 0, at)

    def notes(self) -> Iterator[tuple[str, str]]:
        """Yield a heading and a text for each kind."""
        for kind, number in self.counts.items():
            times = f"{number} times, first on" if number > 1 else "on"
            yield kind, f"{times} line {self.lines[kind]}"


def pieces(stream: BinaryIO, repairs: Repairs) -> Iterator[str]:
    """Yield the text of `stream` in pieces that a parser accepts, each line where it was.

    The XML declaration is left out: it names an encoding that the text no longer has. Raises WxrError for an encoding
    that cannot be read.
    """
    reader = _Reader(repairs)
    head = stream.read(CHUNK)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise WxrError(1, "the file is in UTF-16; WordPress exports UTF-8")
    decode = _decoder(head, reader)
    is_first = True
    chunk = head
    while chunk:
        following = stream.read(CHUNK)
        text = decode(chunk, not following)
        if is_first:
            text = _beginning(text, repairs)
            is_first = False
        yield reader.repaired(text, final=not following)
        chunk = following


def _decoder(head: bytes, reader: "_Reader") -> Callable[[bytes, bool], str]:
    """Return what decodes the file, chunk by chunk."""
    declared = _ENCODING.search(head)
    name = declared[1].decode("ascii", "replace") if declared else "UTF-8"
    if _UTF_8.fullmatch(name):
        return reader.utf_8
    if not _OTHERS.fullmatch(name):
        raise WxrError(1, f"its encoding cannot be read: {name}")
    return codecs.getincrementaldecoder(name)("replace").decode


def _beginning(text: str, repairs: Repairs) -> str:
    """Return `text` without what precedes the document, but with its line ends."""
    text = text.lstrip("\ufeff")
    start = _START.search(text)
    if not start:
        return text
    skipped = text[: start.start()]
    document = text[start.start() :]
    if skipped:
        repairs.count(BEFORE, 1)
    if declaration := _DECLARATION.match(document):
        skipped += declaration[0]
        document = document[declaration.end() :]
    return "\n" * skipped.count("\n") + document


class _Reader:
    """Repairs the text of one file; keeps what a piece has begun and the next one ends."""

    def __init__(self, repairs: Repairs) -> None:
        self.repairs = repairs
        self.bytes = b""
        self.text = ""
        self.in_cdata = False
        # Lines before the text that is looked at.
        self.line = 1

    def utf_8(self, chunk: bytes, final: bool) -> str:
        """Return a chunk as text; bytes that are no UTF-8 are repaired."""
        data = self.bytes + chunk
        end = len(data)
        if not final and (cut := _CUT.search(data, max(end - 7, 0))):
            end = cut.start()
        data, self.bytes = data[:end], data[end:]
        text = data.decode("utf-8", "surrogateescape")
        return _ESCAPED.sub(lambda found: self._decoded(found, text), text)

    def _decoded(self, found: re.Match[str], text: str) -> str:
        """Return bytes that are no UTF-8 as what they were meant to be."""
        line = self.line + self.text.count("\n")

        def letter(wrong: re.Match[bytes]) -> str:
            if wrong["pair"]:
                return wrong[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
            kind = ODD if wrong.lastgroup else FOREIGN
            self.repairs.count(kind, line, text, found.start())
            if wrong["zero"]:
                return ""
            return "\ufffd" if wrong["odd"] else wrong[0].decode("cp1252", "replace")

        data = found[0].encode("utf-8", "surrogateescape")
        return "".join(letter(wrong) for wrong in _WRONG.finditer(data))

    def repaired(self, text: str, *, final: bool) -> str:
        """Return more text without characters, references and entities that a parser refuses."""
        text = self.text + text
        end = len(text)
        if not final and (cut := _UNFINISHED.search(text, max(end - 50, 0))):
            end = cut.start()
        text, self.text = text[:end], text[end:]
        kept = text
        if found := _FORBIDDEN.search(text):
            kept, number = _FORBIDDEN.subn("", text)
            self.repairs.count(FORBIDDEN, self.line, text, found.start(), number=number)
        kept = "".join(self._markup(kept))
        self.line += text.count("\n")
        return kept

    def _markup(self, text: str) -> Iterator[str]:
        """Yield `text`, what is in CDATA as it is."""
        at = 0
        while at < len(text):
            if self.in_cdata:
                end = text.find("]]>", at)
                self.in_cdata = end < 0
                end = len(text) if end < 0 else end + 3
                yield text[at:end]
                at = end
                continue
            found = _IN_MARKUP.search(text, at)
            if not found:
                yield text[at:]
                return
            yield text[at : found.start()]
            at = found.end()
            self.in_cdata = found[0].startswith("<")
            yield found[0] if self.in_cdata else self._reference(found, text)

    def _reference(self, found: re.Match[str], text: str) -> str:
        number, name = found.groups()
        if name in _XML_ENTITIES:
            return found[0]
        if name and (letters := html5.get(f"{name};")):
            return "".join(f"&#{ord(letter)};" for letter in letters)
        if not number:
            self.repairs.count(AMPERSANDS, self.line, text, found.start())
            return f"&amp;{found[0][1:]}"
        code = int(number[1:], 16) if number[0] in "xX" else int(number)
        if code <= 0x10FFFF and not _FORBIDDEN.match(chr(code)):
            return found[0]
        self.repairs.count(FORBIDDEN, self.line, text, found.start())
        return ""
