"""Conversion of HTML to the Markdown of comments. Elements that comments can't have are reduced to their text.

`markup.markdown.from_html` is for pages. They can contain HTML, which comments show as typed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from marginalia.markup import tags
from marginalia.markup.characters import unescape
from marginalia.markup.html.sanitizer import clean_once
from marginalia.markup.markdown import render
from marginalia.markup.text import html_to_text

# Longer texts are refused anyway, because comments are much shorter.
MAX_LENGTH = 200_000
_MARKS = {"b": "**", "strong": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_BLOCKS = frozenset({"blockquote", "li", "ol", "p", "pre", "table", "tr", "ul"})
_SPACES = re.compile(r"[ \t\n\r\f]+")
# The renderer links URLs, so they must not be escaped. Underscores inside words mean nothing.
_SPECIAL = re.compile(r"https?://[^\s<>\[\]`]+|[\\`*\[\]<~|]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_LINE_START = re.compile(r"(\d{1,9})(?=[.)])|(?=[-+#=>])")
# Escaped characters, and words between marks that are always recognized, because whitespace precedes the first mark and
# no letter follows the second one. There is no need to render them, which would take half of the time of an import.
_SURE = re.compile(r"\\.|(?<!\S)(\*\*?|~~)(?=\w)[\w ]*(?<=\w)\1(?![\w*~])")
_URL = re.compile(r"[^\s<>()\\]+")


def to_markdown(html: str) -> str:
    """Return Markdown for untrusted HTML. The result contains the same words as the HTML does when it is cleaned."""
    if len(html) > MAX_LENGTH:
        return html
    cleaned = clean_once(html, "comment")
    markdown = _Converter(_MARKS).convert(cleaned)
    unsure = _SURE.sub("", markdown)
    if any(mark in unsure for mark in _MARKS.values()):
        # Between letters and punctuation, marks are shown as typed.
        shown, wanted = html_to_text(render(markdown)), html_to_text(cleaned)
        if any(shown.count(mark) != wanted.count(mark) for mark in "*~"):
            return _Converter({}).convert(cleaned)
    return markdown


def escape(text: str) -> str:
    """Return text in which no character has a special meaning in Markdown, except at the start of a line."""
    return _SPECIAL.sub(lambda match: match[0] if match[0].startswith("http") else f"\\{match[0]}", text)


def escape_line_start(text: str) -> str:
    """Return text that begins no list, heading, quotation or rule at the start of a line."""
    return _LINE_START.sub(r"\1\\", text, count=1) if _LINE_START.match(text) else text


@dataclass
class _Element:
    """An open element, and the Markdown of its content so far."""

    tag: str
    href: str = ""
    text: str = ""
    items: int = 0


class _Converter:
    """A converter for HTML that the sanitizer has cleaned, so all elements are closed.

    `marks` are the marks of emphasis, by tag.
    """

    def __init__(self, marks: Mapping[str, str]) -> None:
        self._marks = marks
        self._open = [_Element("")]

    def convert(self, html: str) -> str:
        for name, text, is_end in tags.tokens(html):
            if not name:
                self._add_text(unescape(text))
            elif name == "br":
                self._open[-1].text += "\n"
            elif name == "hr":
                self._open[-1].text += "\n\n---\n\n"
            elif is_end:
                element = self._open.pop()
                self._open[-1].text += self._convert(element)
            else:
                self._open.append(_Element(name, href=tags.attributes(text).get("href", "") if text else ""))
        lines = (line.rstrip() for line in self._open[0].text.split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")

    def _add_text(self, data: str) -> None:
        if self._is_in("pre"):
            self._open[-1].text += data
            return
        text = _SPACES.sub(" ", data)
        if not self._is_in("code"):
            text = escape(text)
            if self._is_at_line_start():
                text = escape_line_start(text.lstrip(" "))
        self._open[-1].text += text

    def _is_in(self, tag: str) -> bool:
        return any(element.tag == tag for element in self._open)

    def _is_at_line_start(self) -> bool:
        for element in reversed(self._open):
            if element.text:
                return element.text.endswith("\n")
            if element.tag in _BLOCKS:
                return True
            if element.tag in self._marks or element.tag in ("a", "code"):
                return False
        return True

    def _convert(self, element: _Element) -> str:
        tag, text = element.tag, element.text
        if self._is_in("pre") or self._is_in("code"):
            return text
        if mark := self._marks.get(tag):
            is_marked = any(self._marks.get(outer.tag) == mark for outer in self._open)
            return text if is_marked else _between(mark, text)
        match tag:
            case "a":
                return _link(text, element.href)
            case "code":
                return _code(text)
            case "p" | "table":
                return f"\n\n{text.strip()}\n\n"
            case "pre":
                return _code_block(text)
            case "blockquote":
                return "\n\n" + "\n".join(f"> {line}".rstrip() for line in _trim(text).split("\n")) + "\n\n"
            case "li":
                return self._item(text)
            case "ol" | "ul":
                return f"\n{text.rstrip()}\n" if self._is_in("li") else f"\n\n{text.strip()}\n\n"
            case "td" | "th":
                return f"{text.strip()} "
            case "tr":
                return f"{text.strip()}\n"
        return text

    def _item(self, text: str) -> str:
        parent = self._open[-1]
        parent.items += 1
        marker = f"{parent.items}. " if parent.tag == "ol" else "- "
        lines = _trim(text).replace("\n", "\n" + " " * len(marker))
        start = "" if parent.text.endswith("\n") or not parent.text else "\n"
        return f"{start}{marker}{lines}\n"


def _trim(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _between(mark: str, text: str) -> str:
    """Return text between marks. Spaces are moved out, because marks next to spaces mean nothing."""
    inner = text.strip()
    if not inner or "\n\n" in text:
        return text
    before, _inner, after = text.partition(inner)
    return f"{before}{mark}{inner}{mark}{after}"


def _link(text: str, href: str) -> str:
    label = _SPACES.sub(" ", text).strip()
    if not href or not label:
        return text
    if label == href and _URL.fullmatch(href):
        return f"<{href}>"
    target = href if _URL.fullmatch(href) else "<" + re.sub(r"([\\<>])", r"\\\1", href) + ">"
    return f"[{label}]({target})"


def _code(text: str) -> str:
    inner = text.replace("\n", " ")
    if not inner.strip():
        return inner
    fence = "`" * (max(map(len, re.findall("`+", inner)), default=0) + 1)
    space = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{fence}{space}{inner}{space}{fence}"


def _code_block(text: str) -> str:
    fence = "`" * max(3, max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"\n\n{fence}\n" + text.strip("\n") + f"\n{fence}\n\n"
