"""Conversion of WordPress comments to Markdown, the format of comments on this site.

WordPress comments are HTML in which line ends become line breaks. Formatting that Markdown can't express reliably is
removed, for example emphasis next to other special characters. The text itself is always kept.
"""

import re
from dataclasses import dataclass, field
from html import unescape

from wordpress.texts.paragraphs import paragraphs
from wordpress.texts.tokens import BLOCKS, TAG, Token, attributes, is_block, tokens

__all__ = ["to_markdown"]

SPECIAL = re.compile(r"[\\`*_\[\]<>~|#]|&(?=#?\w+;)")
LINE_START = re.compile(r"^(\d{1,9})(?=[.)])|^(?=[-+=:])")
# Matches a URL of up to 2,000 characters. Longer URLs do not become links.
URL = re.compile(r"https?://[^\s<>]{1,2000}+(?![^\s<>])")
NESTING = {"blockquote", "ul", "ol"}
MARKS = {"b": "**", "strong": "**", "em": "*", "i": "*", "cite": "*"}
BREAK = "\\\n"
# How deeply quotations and lists can be nested. Deeper ones are not marked.
MAX_DEPTH = 12


def to_markdown(html: str) -> str:
    """Convert simple HTML, in which line breaks are significant, to Markdown."""
    writer = _Writer()
    for token in tokens(paragraphs(html)):
        writer.feed(token)
    return writer.end()


@dataclass(slots=True)
class _Frame:
    """An open element: its finished blocks, and the current line."""

    name: str
    rest: str = ""
    blocks: list[str] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    holds_blocks: bool = False

    def flush(self) -> None:
        """End the current line, and add it to the blocks."""
        # Remove hard breaks from the end. At the end of a block, the backslash of a hard break would be visible.
        text = re.sub(r"(?:\\\n|\s)+\Z", "", "".join(self.line)).lstrip()
        self.line = []
        if text:
            self.blocks.append(text)


class _Writer:
    """A writer of Markdown that uses a stack of frames, one for each open element.

    When an element is closed, its text is added to the frame of its parent.
    """

    def __init__(self) -> None:
        self.frames = [_Frame("")]
        # How many of the open elements add a prefix to each of their lines.
        self.depth = 0
        self.links = 0

    @property
    def top(self) -> _Frame:
        return self.frames[-1]

    def feed(self, token: Token) -> None:
        """Process the next token."""
        if token.kind in ("text", "shortcode"):
            self.text(token.source)
        elif token.kind == "open":
            if is_block(token):
                self.top.flush()
            self.frames.append(_Frame(token.name, token.rest))
            self.depth += token.name in NESTING
            self.links += token.name == "a"
        elif token.kind == "close":
            self.close(self.frames.pop(), block=is_block(token))
        elif token.kind == "void":
            self.void(token)
        elif token.name in ("pre", "xmp"):
            self.block(_fenced(_inner(token)))
        elif token.name == "code":
            self.top.line.append(_code(_inner(token)))

    def block(self, text: str) -> None:
        """Add a block that is not a line of text."""
        self.top.flush()
        self.top.blocks.append(text)
        self.top.holds_blocks = True

    def end(self) -> str:
        """Return the Markdown of all tokens."""
        self.top.flush()
        return "\n\n".join(self.top.blocks)

    def text(self, source: str) -> None:
        """Add text. Escape Markdown's special characters, and convert URLs to links."""
        text = re.sub(r"\s+", " ", unescape(source).replace("\xa0", " "))
        at_start = not self.written()
        if at_start:
            text = text.lstrip()
        position = 0
        for match in () if self.links else URL.finditer(text):
            self.top.line.append(_escaped(text[position : match.start()], at_start and not position))
            url = _without_punctuation(match[0])
            self.top.line.append(f"<{url}>")
            position = match.start() + len(url)
        self.top.line.append(_escaped(text[position:], at_start and not position))

    def written(self) -> str:
        """Return what was last written to the current line, or "" at the start of a line.

        The text of inline elements that are still open is included.
        """
        for frame in reversed(self.frames):
            for part in reversed(frame.line):
                if part:
                    return "" if part.endswith(BREAK) else part
            if frame.name in BLOCKS:
                break
        return ""

    def void(self, token: Token) -> None:
        """Add a line break, a horizontal rule, or a picture's alternative text."""
        values = attributes(token.rest)
        if token.name == "br":
            if self.written():
                self.top.line.append(BREAK)
        elif token.name == "hr":
            self.block("* * *")
        elif token.name == "img":
            self.text(values.get("alt", "") or values.get("title", ""))

    def close(self, frame: _Frame, *, block: bool) -> None:
        """Add the content of an element that has ended to the frame of its parent."""
        self.links -= frame.name == "a"
        if not block:
            self.top.line.append(self.inline(frame))
            return
        frame.flush()
        self.depth -= frame.name in NESTING
        if not frame.blocks:
            return
        if self.depth < MAX_DEPTH:
            self.lay_out(frame)
        # If possible, reuse the list instead of copying it, because repeated copying would be slow in deeply nested
        # elements.
        if self.top.blocks:
            self.top.blocks.extend(frame.blocks)
        else:
            self.top.blocks = frame.blocks

    def lay_out(self, frame: _Frame) -> None:
        """Add the Markdown that marks the lines of a finished block."""
        name = frame.name
        # Only a table cell that contains a single line of text can be on the same line as other cells.
        self.top.holds_blocks |= frame.holds_blocks or name not in ("td", "th") or len(frame.blocks) > 1
        is_line = len(frame.blocks) == 1 and "\n" not in frame.blocks[0] and not frame.holds_blocks
        if is_line and re.fullmatch("h[1-6]", name):
            frame.blocks = [f"{'#' * int(name[1])} {frame.blocks[0]}"]
        elif name == "blockquote":
            frame.blocks = ["\n".join(f"> {line}".rstrip() for line in "\n\n".join(frame.blocks).split("\n"))]
        elif name == "li":
            frame.blocks = [re.sub(r"\n\n(?=- |1\. )", "\n", "\n\n".join(frame.blocks))]
        elif name in ("ul", "ol"):
            frame.blocks = ["\n".join(_item(name, number, text) for number, text in enumerate(frame.blocks, 1))]
        elif name == "tr" and not frame.holds_blocks:
            frame.blocks = [" \\| ".join(frame.blocks)]

    def inline(self, frame: _Frame) -> str:
        """Return the Markdown of an inline element."""
        text = "".join(frame.line)
        if frame.name == "a":
            return _link(attributes(frame.rest).get("href", "").strip(), text)
        mark = MARKS.get(frame.name)
        start = _edge(text)
        end = len(text) - _edge(text[::-1])
        if not mark or start >= end or BREAK in text:
            return text
        before = text[:start]
        inner = text[start:end]
        after = text[end:]
        # Leave out the marks if there are other special characters around the text or directly before it, because the
        # marks could then be matched with the wrong characters.
        if re.search(r"[*_`\[\]<>\\]", self.written()[-1:] + before + after):
            return text
        return f"{before}{mark}{inner}{mark}{after}"


def _without_punctuation(url: str) -> str:
    """Return a URL without the punctuation at its end, because this punctuation belongs to the sentence around the URL.

    A closing parenthesis is kept if the URL contains the opening parenthesis.
    """
    while len(url) > len("https://"):
        if not url.endswith(tuple(".,;:!?'\"")) and not (url.endswith(")") and url.count(")") > url.count("(")):
            break
        url = url[:-1]
    return url


def _edge(text: str) -> int:
    """Return how many characters precede the first letter or digit."""
    return len(text) if (match := re.search(r"\w", text)) is None else match.start()


def _escaped(text: str, at_start: bool) -> str:
    text = SPECIAL.sub(lambda match: "\\" + match[0], text)
    return LINE_START.sub(lambda match: (match[1] or "") + "\\", text) if at_start else text


def _inner(token: Token) -> str:
    """Return the text inside an element, without tags."""
    inner = token.source[token.source.index(">") + 1 : token.source.rindex("</")]
    return unescape(TAG.sub("", re.sub(r"<br\s*/?>\n?", "\n", inner)))


def _code(text: str) -> str:
    """Return `text` as an inline code span."""
    text = " ".join(text.split())
    if not text:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    edge = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def _fenced(text: str) -> str:
    """Return `text` as a fenced code block."""
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence}\n{text.strip(chr(10))}\n{fence}"


def _item(kind: str, number: int, text: str) -> str:
    mark = "- " if kind == "ul" else f"{number}. "
    return mark + re.sub(r"\n(?=[^\n])", "\n" + " " * len(mark), text)


def _link(url: str, text: str) -> str:
    """Return a link, or only `text` if the URL can't be written in Markdown."""
    if not re.fullmatch(r"(?:https?|mailto):[^\s<>\\]+", url):
        return text
    return f"[{text}](<{url}>)" if text.strip() else f"<{url}>"
