"""Makes paragraphs of the text of WordPress's classic editor: a blank line ends one, a line end breaks the line.

WordPress does this each time it shows a post; here it is done once, on import. Not a translation of its code: this
walks over the tags and knows what each element may hold, so the result is always well nested.
"""

import re
from collections import Counter

from wordpress.texts.tokens import WHOLE, Token, attributes, close_of, is_block, tokens, visible

__all__ = ["paragraphs"]

# How the text directly inside an element is laid out: every run a paragraph ("all"), only where there are several
# ("many"), never ("lines": line ends break the line), or no text expected ("none"). The body itself is "".
LAYOUT = {
    **dict.fromkeys(("", "blockquote"), "all"),
    **dict.fromkeys(("caption", "dt", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "hgroup", "legend"), "lines"),
    "summary": "lines",
    **dict.fromkeys(("colgroup", "dl", "menu", "ol", "table", "tbody", "tfoot", "thead", "tr", "ul"), "none"),
    "p": "p",
}
# An element that begins ends these, up to the list or table that holds them.
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
# Deeper formatting than this is dropped: what is left open is opened again in each paragraph that follows.
DEEPEST = 16


def paragraphs(source: str) -> str:
    """`source`, HTML with paragraphs set apart by blank lines, as HTML with paragraphs as elements."""
    writer = _Writer()
    for token in tokens(source.replace("\r\n", "\n").replace("\r", "\n")):
        writer.take(token)
    return writer.end()


class _Writer:
    """Gathers a run of inline tokens until a block begins or ends, then lays it out as its element asks."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.run: list[Token] = []
        # Open blocks by name and start tag, and open formatting with the number of blocks around it.
        self.blocks: list[tuple[str, str]] = []
        self.inline: list[tuple[str, str, int]] = []
        # How many blocks of each name are open, so that looking for one that is not costs nothing.
        self.open: Counter[str] = Counter()

    def take(self, token: Token) -> None:
        """Take the next token of the body."""
        # Code and the like that never ends would take all that follows: only its text counts.
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
        """All that was taken, everything closed."""
        self.flush()
        while self.blocks:
            self.pop()
        return "".join(self.out).strip("\n")

    def begin(self, token: Token) -> None:
        """A block begins: end what cannot hold it."""
        if self.blocks and self.blocks[-1][0] == "p":
            self.pop()
        ended, within = ENDS.get(token.name, (set(), set()))
        for depth in range(len(self.blocks) - 1, -1, -1):
            if self.blocks[depth][0] in within or not any(self.open[name] for name in ended):
                break
            if self.blocks[depth][0] in ended:
                while len(self.blocks) > depth:
                    self.pop()
        if token.kind == "open":
            self.blocks.append((token.name, token.source))
            self.open[token.name] += 1
        if token.name != "p":
            single = token.kind != "open" or LAYOUT.get(token.name, "many") in ("all", "none")
            self.out.append(token.source + ("\n" if single else ""))

    def close(self, name: str) -> None:
        """An end tag: close down to its element; one that was never opened is dropped."""
        if self.open[name]:
            while self.pop() != name:
                continue

    def pop(self) -> str:
        """Close the innermost block and what formatting was opened inside it."""
        name, _ = self.blocks.pop()
        self.open[name] -= 1
        self.inline = [entry for entry in self.inline if entry[2] <= len(self.blocks)]
        if name != "p":
            self.out.append(close_of(name) + "\n")
        return name

    def flush(self) -> None:
        """Write the run."""
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
        """The run cut at blank lines, each piece well nested, those that show nothing left out."""
        found = []
        piece = _Piece(self.inline)
        for token in self.run:
            if token.kind in ("text", "shortcode"):
                first, *rest = BLANK_LINE.split(visible(token)) if split else [visible(token)]
                piece.text(first)
                for text in rest:
                    found.append(piece.close(self.inline))
                    piece = _Piece(self.inline)
                    piece.text(text)
            elif token.kind == "open":
                if len(self.inline) < DEEPEST:
                    self.inline.append((token.name, token.source, len(self.blocks)))
                    piece.tag(token.source)
                    piece.shows = piece.shows or not {"id", "name"}.isdisjoint(attributes(token.rest))
            elif token.kind == "close":
                self.close_inline(token.name, piece)
            else:
                piece.element(token)
        found.append(piece.close(self.inline))
        return [text for text in found if text]

    def close_inline(self, name: str, piece: "_Piece") -> None:
        """End formatting, also where it was not the last to begin: what began later is opened again behind it."""
        names = [entry[0] for entry in self.inline]
        if name not in names:
            return
        at = len(names) - 1 - names[::-1].index(name)
        later = self.inline[at + 1 :]
        for entry in reversed(self.inline[at:]):
            piece.tag(close_of(entry[0]))
        for entry in later:
            piece.tag(entry[1])
        del self.inline[at]


class _Piece:
    """What becomes one paragraph, or the text of one element."""

    def __init__(self, inline: list[tuple[str, str, int]]) -> None:
        self.parts = [source for _, source, _ in inline]
        self.shows = False
        # Where the parts after the last thing that is seen begin: line breaks there are none.
        self.tail = len(self.parts)
        self.broken = False

    def text(self, text: str) -> None:
        """Text: each line end a line break, but none at the start, at the end and beside one that is there."""
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if number:
                self.line_end()
            if self.broken or number:
                line = line.lstrip(" \t")
            if number < len(lines) - 1:
                line = line.rstrip(" \t")
            if line:
                self.parts.append(line)
            if line.replace("&nbsp;", "").strip():
                self.seen()

    def line_end(self) -> None:
        """A line end of the source."""
        if self.shows and not self.broken:
            self.parts.append(BREAK)
            self.broken = True

    def element(self, token: Token) -> None:
        """Something without text of its own: an image, a break, code."""
        if token.name == "br":
            if self.broken and self.parts[-1] == BREAK:
                self.parts.pop()
            self.parts.append(BREAK)
            self.broken = True
        else:
            self.parts.append(token.source.replace("\n", "<br>") if token.name == "code" else token.source)
            self.seen()

    def tag(self, source: str) -> None:
        """Formatting that begins or ends."""
        self.parts.append(source)

    def seen(self) -> None:
        """What was added last is visible."""
        self.shows = True
        self.broken = False
        self.tail = len(self.parts)

    def close(self, inline: list[tuple[str, str, int]]) -> str:
        """The piece with its formatting closed; "" when it would show nothing."""
        if not self.shows:
            return ""
        tail = [part for part in self.parts[self.tail :] if part != BREAK and part.strip()]
        return "".join([*self.parts[: self.tail], *tail, *(close_of(entry[0]) for entry in reversed(inline))]).strip()
