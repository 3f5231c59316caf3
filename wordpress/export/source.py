"""Conversion of an export's bytes to text that an XML parser accepts.

Some exports contain PHP notices before or after the document, forbidden characters, bytes in another encoding, or HTML
entities. No XML parser accepts such a file. This module repairs all of these faults, and counts the repairs for the
report.
"""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.entities import html5
from typing import BinaryIO

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from wordpress.export.records import WxrError

__all__ = ["Repairs", "pieces"]

CHUNK = 32 * 1024

_START = re.compile(r"<\?xml[ \t\r\n]|<!DOCTYPE|<rss[ \t\r\n>]", re.IGNORECASE)
_DECLARATION = re.compile(r"<\?xml[^>]*\?>", re.IGNORECASE)
_ENCODING = re.compile(rb"<\?xml[^>]*\bencoding\s*=\s*[\"']([^\"']{1,40})[\"']", re.IGNORECASE)
_UTF_8 = re.compile("utf-?8|(?:us-)?ascii", re.IGNORECASE)
_OTHER_ENCODINGS = re.compile(
    r"iso-8859-\d{1,2}|latin-?1|windows-125\d|cp125\d|koi8-[ru]|big5|gb2312|gbk|gb18030|euc-(?:jp|kr)|shift_jis",
    re.IGNORECASE,
)

# Matches invalid UTF-8 that occurs in real exports: a character above U+FFFF encoded as two surrogates, a zero byte
# encoded as two bytes, and sequences that are overlong or don't encode a character.
_WRONG = re.compile(
    rb"(?P<pair>\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf])|(?P<zero>\xc0\x80)"
    rb"|(?P<odd>[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f][\x80-\xbf]|\xf0[\x80-\x8f][\x80-\xbf]{2}"
    rb"|\xed[\xa0-\xbf][\x80-\xbf])|[\x80-\xff]"
)
# Matches the characters to which Python decodes bytes that are not valid UTF-8.
_ESCAPED = re.compile("[\udc80-\udcff]+")
# Matches an incomplete character at the end of a chunk, which may continue in the next chunk.
_CUT = re.compile(rb"(?:\xed[\xa0-\xaf][\x80-\xbf])?[\xc0-\xff][\x80-\xbf]{0,3}\Z")
_UNFINISHED = re.compile(r"(?:&[#\w]{0,40}|<[!\[A-Z]{0,8}|\]{1,2})\Z")

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_MARKUP = re.compile(r"<!\[CDATA\[|&(?:#(\d{1,9}|[xX][0-9a-fA-F]{1,8});|(\w{1,40});)?")
_XML_ENTITIES = frozenset({"lt", "gt", "amp", "quot", "apos"})

FORBIDDEN = gettext_lazy("Characters that XML forbids, left out")
FOREIGN = gettext_lazy("Bytes that are not UTF-8, read as Windows-1252")
ODD = gettext_lazy("Invalid UTF-8, replaced or left out")
AMPERSANDS = gettext_lazy("Ampersands that don't begin an entity, read as text")
BEFORE = gettext_lazy("Skipped before the document")
AFTER = gettext_lazy("Skipped after the end of the document")


@dataclass(slots=True)
class Repairs:
    """How many repairs of each kind were made, and on which line the first of them was made."""

    counts: Counter[str] = field(default_factory=Counter)
    lines: dict[str, int] = field(default_factory=dict)

    def count(self, kind: str, line: int, text: str = "", position: int = 0, *, number: int = 1) -> None:
        """Count repairs of one kind.

        Args:
            kind: The kind of repair.
            line: The number of the line on which `text` begins.
            text: The text that contains the first repair.
            position: The position of the first repair in `text`.
            number: The number of repairs.
        """
        self.counts[kind] += number
        if kind not in self.lines:
            self.lines[kind] = line + text.count("\n", 0, position)

    def notes(self) -> Iterator[tuple[str, str]]:
        """Yield a heading and a note for each kind of repair that was made."""
        for kind, number in self.counts.items():
            text = ngettext("on line %(line)d", "%(n)d times, first on line %(line)d", number)
            yield str(kind), text % {"n": number, "line": self.lines[kind]}


def pieces(stream: BinaryIO, repairs: Repairs) -> Iterator[str]:
    """Yield the text of `stream` in chunks, repaired so that a parser accepts it. Line numbers don't change.

    The XML declaration is removed, because it would specify an encoding that the decoded text no longer has.

    Raises:
        WxrError: The encoding is unknown.
    """
    reader = _Reader(repairs)
    head = stream.read(CHUNK)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise WxrError(1, _("the file is in UTF-16, but WordPress exports UTF-8"))
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
    """Return a function that decodes the file chunk by chunk.

    Raises:
        WxrError: The encoding is unknown.
    """
    declared = _ENCODING.search(head)
    name = declared[1].decode("ascii", "replace") if declared else "UTF-8"
    if _UTF_8.fullmatch(name):
        return reader.utf_8
    if not _OTHER_ENCODINGS.fullmatch(name):
        raise WxrError(1, _("its encoding %(name)s is not supported") % {"name": name})
    return codecs.getincrementaldecoder(name)("replace").decode


def _beginning(text: str, repairs: Repairs) -> str:
    """Return `text` without the XML declaration and without anything that precedes the document, except line breaks."""
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
    """A reader that repairs the text of one file.

    If a character or a reference is incomplete at the end of a chunk, it is processed with the next chunk.
    """

    def __init__(self, repairs: Repairs) -> None:
        self.repairs = repairs
        self.bytes = b""
        self.text = ""
        self.in_cdata = False
        # The number of the line on which the current text begins.
        self.line = 1

    def utf_8(self, chunk: bytes, final: bool) -> str:
        """Decode a chunk and repair invalid UTF-8."""
        data = self.bytes + chunk
        end = len(data)
        if not final and (cut := _CUT.search(data, max(end - 7, 0))):
            end = cut.start()
        data, self.bytes = data[:end], data[end:]
        text = data.decode("utf-8", "surrogateescape")
        return _ESCAPED.sub(lambda match: self._decode_invalid(match, text), text)

    def _decode_invalid(self, match: re.Match[str], text: str) -> str:
        """Return the text that bytes were probably meant to be, although they are not valid UTF-8."""
        line = self.line + self.text.count("\n")

        def letter(sequence: re.Match[bytes]) -> str:
            if sequence["pair"]:
                return sequence[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
            kind = ODD if sequence.lastgroup else FOREIGN
            self.repairs.count(kind, line, text, match.start())
            if sequence["zero"]:
                return ""
            return "\ufffd" if sequence["odd"] else sequence[0].decode("cp1252", "replace")

        data = match[0].encode("utf-8", "surrogateescape")
        return "".join(letter(sequence) for sequence in _WRONG.finditer(data))

    def repaired(self, text: str, *, final: bool) -> str:
        """Return `text`, with the characters, references and entities that a parser rejects repaired or removed."""
        text = self.text + text
        end = len(text)
        if not final and (unfinished := _UNFINISHED.search(text, max(end - 50, 0))):
            end = unfinished.start()
        text, self.text = text[:end], text[end:]
        repaired = text
        if match := _FORBIDDEN.search(text):
            repaired, number = _FORBIDDEN.subn("", text)
            self.repairs.count(FORBIDDEN, self.line, text, match.start(), number=number)
        repaired = "".join(self._repair_markup(repaired))
        self.line += text.count("\n")
        return repaired

    def _repair_markup(self, text: str) -> Iterator[str]:
        """Yield the parts of `text`, with references repaired. CDATA sections are not changed."""
        position = 0
        while position < len(text):
            if self.in_cdata:
                end = text.find("]]>", position)
                self.in_cdata = end < 0
                end = len(text) if end < 0 else end + 3
                yield text[position:end]
                position = end
                continue
            match = _IN_MARKUP.search(text, position)
            if not match:
                yield text[position:]
                return
            yield text[position : match.start()]
            position = match.end()
            self.in_cdata = match[0].startswith("<")
            yield match[0] if self.in_cdata else self._repair_reference(match, text)

    def _repair_reference(self, match: re.Match[str], text: str) -> str:
        number, name = match.groups()
        if name in _XML_ENTITIES:
            return match[0]
        if name and (letters := html5.get(f"{name};")):
            return "".join(f"&#{ord(letter)};" for letter in letters)
        if not number:
            self.repairs.count(AMPERSANDS, self.line, text, match.start())
            return f"&amp;{match[0][1:]}"
        code = int(number[1:], 16) if number[0] in "xX" else int(number)
        if code <= 0x10FFFF and not _FORBIDDEN.match(chr(code)):
            return match[0]
        self.repairs.count(FORBIDDEN, self.line, text, match.start())
        return ""
