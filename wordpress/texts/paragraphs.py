"""Add paragraphs to posts from WordPress's classic editor.

Blank lines separate paragraphs, and line ends become line breaks.

WordPress does this whenever it shows a post, but the import does it only once. The code in this module is not derived
from WordPress. The code processes one tag after another, and checks what each element can contain, so the result is
always well nested.
"""

import re
from collections import Counter

from wordpress.texts.tokens import WHOLE, Token, attributes, end_tag, is_block, to_html, tokens

__all__ = ["paragraphs"]

# The layout of text directly inside an element. "all": Each run of text becomes a paragraph. "many": If there are
# several runs, each becomes a paragraph. "lines": Line ends become line breaks. "none": No text is expected. The key ""
# is for the body itself.
LAYOUT = {
    **dict.fromkeys(("", "blockquote"), "all"),
    **dict.fromkeys(("caption", "dt", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "hgroup", "legend"), "lines"),
    "summary": "lines",
    **dict.fromkeys(("colgroup", "dl", "menu", "ol", "table", "tbody", "tfoot", "thead", "tr", "ul"), "none"),
    "p": "p",
}
# For each element: the open elements that its start tag closes, and the ancestors at which the search for them stops.
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
# Maximum nesting depth of formatting. Deeper formatting is dropped, because unclosed formatting is repeated in each
# following paragraph.
MAX_DEPTH = 16


def paragraphs(source: str) -> str:
    """Convert HTML in which blank lines separate paragraphs to HTML with paragraph elements."""
    writer = _Writer()
    for token in tokens(source.replace("\r\n", "\n").replace("\r", "\n")):
        writer.feed(token)
    return writer.end()


class _Writer:
    """A writer that collects inline tokens until a block starts or ends, and writes them in their element's layout."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.run: list[Token] = []
        # Open blocks are stored as (name, start tag), and open formatting as (name, start tag, number of surrounding
        # blocks).
        self.blocks: list[tuple[str, str]] = []
        self.inline: list[tuple[str, str, int]] = []
        # The number of open blocks with each name. If the number is 0, no search is needed.
        self.open: Counter[str] = Counter()

    def feed(self, token: Token) -> None:
        """Process the next token of the body."""
        # Skip start tags without an end tag, for example of <code>. Otherwise, the element would contain the rest of
        # the post.
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
        """Open a block after closing elements that can't contain it."""
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
        """Close the innermost element `name`, and all elements inside it. End tags without a start tag are dropped."""
        if self.open[name]:
            while self.pop() != name:
                continue

    def pop(self) -> str:
        """Close the innermost block and the formatting opened inside it. Return the block's name."""
        name, _ = self.blocks.pop()
        self.open[name] -= 1
        self.inline = [entry for entry in self.inline if entry[2] <= len(self.blocks)]
        if name != "p":
            self.out.append(end_tag(name) + "\n")
        return name

    def flush(self) -> None:
        """Write the collected inline tokens."""
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
        """Return the HTML of the collected inline tokens as a list.

        If `split` is true, a new piece begins after each blank line.

        Each piece is well nested, and invisible pieces are omitted.
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
        """Close formatting. Any formatting that was opened later is closed and opened again."""
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
        # The index after the last visible part. Line breaks after this index are dropped.
        self.tail = len(self.parts)
        self.ends_with_break = False

    def text(self, text: str) -> None:
        """Add text.

        Line ends become line breaks, except at the start, at the end, and next to an existing line break.
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
        """Record that the last part is visible."""
        self.is_visible = True
        self.ends_with_break = False
        self.tail = len(self.parts)

    def close(self, inline: list[tuple[str, str, int]]) -> str:
        """Return the HTML of the piece with its formatting closed, or "" if nothing in it is visible."""
        if not self.is_visible:
            return ""
        tail = [part for part in self.parts[self.tail :] if part != BREAK and part.strip()]
        return "".join([*self.parts[: self.tail], *tail, *(end_tag(entry[0]) for entry in reversed(inline))]).strip()
