"""Conversion of posts from WordPress's classic editor. Such posts don't contain tags for paragraphs.

Text between blank lines becomes a paragraph, and other line ends become line breaks.

WordPress does this whenever it shows a post. The import does it only once. The code is not derived from WordPress. It
processes one tag after another, and keeps track of what each element can contain, so the result is always well nested.
"""

import re
from collections import Counter

from wordpress.texts.tokens import WHOLE, Token, attributes, end_tag, is_block, to_html, tokens

__all__ = ["paragraphs"]

# How text directly inside an element is laid out. A run is text without blank lines. "all": Each run becomes a
# paragraph. "many", which is the default: If there are several runs, each becomes a paragraph. "p": The element is
# itself a paragraph, and is repeated for each run. "lines": Line ends become line breaks. "none": No text is expected.
# The key "" stands for the body itself.
LAYOUT = {
    **dict.fromkeys(("", "blockquote"), "all"),
    **dict.fromkeys(("caption", "dt", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "hgroup", "legend"), "lines"),
    "summary": "lines",
    **dict.fromkeys(("colgroup", "dl", "menu", "ol", "table", "tbody", "tfoot", "thead", "tr", "ul"), "none"),
    "p": "p",
}
# For each element, the names of the open elements that its start tag closes, and the names of the elements at which the
# search for these open elements stops.
ENDS = {
    "li": ({"li"}, {"ul", "ol", "menu"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "tr": ({"tr", "td", "th"}, {"table"}),
    "td": ({"td", "th"}, {"table", "tr"}),
    "th": ({"td", "th"}, {"table", "tr"}),
}
BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
BREAK = "<br>\n"
# How deeply formatting can be nested. Deeper formatting is dropped. The depth is limited, because formatting that is
# never closed is repeated in each following paragraph.
MAX_DEPTH = 16


def paragraphs(source: str) -> str:
    """Convert HTML in which blank lines separate paragraphs to HTML with <p> elements."""
    writer = _Writer()
    for token in tokens(source.replace("\r\n", "\n").replace("\r", "\n")):
        writer.feed(token)
    return writer.end()


class _Writer:
    """A writer of HTML with paragraphs.

    It collects inline tokens until a block begins or ends, and then writes them in the layout of their element.
    """

    def __init__(self) -> None:
        self.out: list[str] = []
        self.run: list[Token] = []
        # The open blocks as (name, start tag), and the open formatting as (name, start tag, number of surrounding
        # blocks).
        self.blocks: list[tuple[str, str]] = []
        self.inline: list[tuple[str, str, int]] = []
        # How many blocks with each name are open. If there are none, `blocks` doesn't have to be searched.
        self.open: Counter[str] = Counter()

    def feed(self, token: Token) -> None:
        """Process the next token of the body."""
        # Skip the start tag of an element such as <code> if there is no end tag. Otherwise, the element would contain
        # the rest of the post.
        if token.kind == "comment" or (token.kind == "open" and token.name in WHOLE):
            return
        if not is_block(token):
            self.run.append(token)
        elif token.kind == "close":
            self.flush()
            self.close(token.name)
        else:
            self.flush()
            self.begin(token)

    def end(self) -> str:
        """Return the HTML of all tokens, with all elements closed."""
        self.flush()
        while self.blocks:
            self.pop()
        return "".join(self.out).strip("\n")

    def begin(self, token: Token) -> None:
        """Close the open blocks that can't contain a new block, and begin this block."""
        if self.blocks and self.blocks[-1][0] == "p":
            self.pop()
        closed_by, stop_at = ENDS.get(token.name, (set(), set()))
        for depth in range(len(self.blocks) - 1, -1, -1):
            if self.blocks[depth][0] in stop_at or not any(self.open[name] for name in closed_by):
                break
            if self.blocks[depth][0] in closed_by:
                while len(self.blocks) > depth:
                    self.pop()
        if token.kind == "open":
            self.blocks.append((token.name, token.source))
            self.open[token.name] += 1
        if token.name != "p":
            ends_line = token.kind != "open" or LAYOUT.get(token.name, "many") in ("all", "none")
            self.out.append(token.source + ("\n" if ends_line else ""))

    def close(self, name: str) -> None:
        """Close the innermost open block `name`, and all blocks inside it. If there is no such block, do nothing."""
        if self.open[name]:
            while self.pop() != name:
                continue

    def pop(self) -> str:
        """Close the innermost block, and the formatting that began inside it. Return the name of the block."""
        name, _ = self.blocks.pop()
        self.open[name] -= 1
        self.inline = [entry for entry in self.inline if entry[2] <= len(self.blocks)]
        if name != "p":
            self.out.append(end_tag(name) + "\n")
        return name

    def flush(self) -> None:
        """Write the inline tokens that have been collected."""
        name, source = self.blocks[-1] if self.blocks else ("", "")
        layout = LAYOUT.get(name, "many")
        pieces = self.pieces(split=layout in ("all", "many", "p"))
        self.run = []
        if layout == "p":
            self.out.extend(f"{source}{piece}</p>\n" for piece in pieces)
        elif layout == "all" or (layout == "many" and len(pieces) > 1):
            self.out.extend(f"<p>{piece}</p>\n" for piece in pieces)
        else:
            self.out.extend(pieces)

    def pieces(self, *, split: bool) -> list[str]:
        """Return the HTML of the inline tokens that have been collected, as a list of pieces.

        If `split` is true, a new piece begins after each blank line.

        Each piece is well nested. Pieces in which nothing is visible are left out.
        """
        pieces = []
        piece = _Piece(self.inline)
        for token in self.run:
            if token.kind in ("text", "shortcode"):
                first, *rest = BLANK_LINE.split(to_html(token)) if split else [to_html(token)]
                piece.text(first)
                for text in rest:
                    pieces.append(piece.close(self.inline))
                    piece = _Piece(self.inline)
                    piece.text(text)
            elif token.kind == "open":
                if len(self.inline) < MAX_DEPTH:
                    self.inline.append((token.name, token.source, len(self.blocks)))
                    piece.tag(token.source)
                    piece.is_visible = piece.is_visible or not {"id", "name"}.isdisjoint(attributes(token.rest))
            elif token.kind == "close":
                self.close_inline(token.name, piece)
            else:
                piece.element(token)
        pieces.append(piece.close(self.inline))
        return [text for text in pieces if text]

    def close_inline(self, name: str, piece: "_Piece") -> None:
        """Close the formatting `name`. Formatting that was opened later is closed first, and then opened again."""
        names = [entry[0] for entry in self.inline]
        if name not in names:
            return
        index = len(names) - 1 - names[::-1].index(name)
        later = self.inline[index + 1 :]
        for entry in reversed(self.inline[index:]):
            piece.tag(end_tag(entry[0]))
        for entry in later:
            piece.tag(entry[1])
        del self.inline[index]


class _Piece:
    """The content of a paragraph or an element."""

    def __init__(self, inline: list[tuple[str, str, int]]) -> None:
        self.parts = [source for _, source, _ in inline]
        self.is_visible = False
        # The index after the last visible part. Line breaks from this index on are dropped.
        self.tail = len(self.parts)
        self.ends_with_break = False

    def text(self, text: str) -> None:
        """Add text.

        Line ends become line breaks, except at the start or end of a piece, and next to an existing line break.
        """
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if number:
                self.line_end()
            if self.ends_with_break or number:
                line = line.lstrip(" \t")
            if number < len(lines) - 1:
                line = line.rstrip(" \t")
            if line:
                self.parts.append(line)
            if line.replace("&nbsp;", "").strip():
                self.mark_visible()

    def line_end(self) -> None:
        """Add a line break for a line end in the source."""
        if self.is_visible and not self.ends_with_break:
            self.parts.append(BREAK)
            self.ends_with_break = True

    def element(self, token: Token) -> None:
        """Add an element that is not split, such as an image, a line break or code."""
        if token.name == "br":
            if self.ends_with_break and self.parts[-1] == BREAK:
                self.parts.pop()
            self.parts.append(BREAK)
            self.ends_with_break = True
        else:
            self.parts.append(token.source.replace("\n", "<br>") if token.name == "code" else token.source)
            self.mark_visible()

    def tag(self, source: str) -> None:
        """Add a start tag or end tag of formatting."""
        self.parts.append(source)

    def mark_visible(self) -> None:
        """Record that the part that was just added is visible."""
        self.is_visible = True
        self.ends_with_break = False
        self.tail = len(self.parts)

    def close(self, inline: list[tuple[str, str, int]]) -> str:
        """Return the HTML of the piece, with its formatting closed, or "" if nothing in the piece is visible."""
        if not self.is_visible:
            return ""
        tail = [part for part in self.parts[self.tail :] if part != BREAK and part.strip()]
        return "".join([*self.parts[: self.tail], *tail, *(end_tag(entry[0]) for entry in reversed(inline))]).strip()
