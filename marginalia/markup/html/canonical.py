"""The canonical form of clean HTML. Two texts have the same canonical form if readers see no difference between them.

The canonical form has no `<div>`, `<span>` or `<figure>` without a purpose, and all text is in a block, such as a
paragraph. Inline elements are inside the blocks. White space that browsers ignore is left out.
"""

import re
from html import escape
from typing import Final

from markdown_it.common.normalize_url import normalizeLink

from marginalia.markup import tags
from marginalia.markup.characters import unescape
from marginalia.markup.html import anchors
from marginalia.markup.text import html_to_text, slugify

__all__ = ["HEADINGS", "INLINE", "TooLarge", "canonical"]

# Maximum number of tags and pieces of text in the canonical form.
MAX_PARTS: Final = 100_000
HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
INLINE: Final = tags.tag_set(
    "a abbr b bdi bdo br cite code del dfn em i img ins kbd mark q rp rt ruby s samp small span strong sub sup time u"
    " var wbr"
)
# Blocks in which readers see all text as paragraphs, even if it is not in a <p> element. "" is the text itself.
_CONTAINERS: Final = frozenset({"", "blockquote", "div"})
_RENAMED: Final = {"b": "strong", "i": "em", "del": "s"}
# Attributes that the sanitizer adds, or that readers don't see.
_UNSEEN: Final = frozenset({"rel", "loading", "data-line"})
_SPACES: Final = re.compile(r"[ \t\n\r\f]+")
_WHITE_SPACE: Final = " \t\n\r\f"
# WordPress adds ids such as "h-my-heading" to headings. Such an id is needed only if a link refers to it.
_AUTOMATIC: Final = re.compile(r"s-h-|s-section\b")
_LINKED: Final = re.compile(r' href="#([^"]*)"')
_PHOTO: Final = r'<img(?= [^<>]*?src="photo:)(?![^<>]* title=)([^<>]*)>'
_CAPTIONED: Final = re.compile(rf"<figure>\s*{_PHOTO}\s*<figcaption>([^<>]*)</figcaption>\s*</figure>")
_FIGURE: Final = re.compile(r"<(/?)(figure|figcaption)([^<>]*)>")
_REFERENCE: Final = re.compile(
    r'<sup class="footnote-ref"><a (?:id="[^"<>]*" )?href="#([^"<>]+)"(?: id="[^"<>]*")?>(\d+)</a></sup>'
)
_NOTES: Final = re.compile(r'<div class="footnotes">\s*<ol>(.*)</ol>\s*</div>\s*\Z', re.DOTALL)
_NOTE: Final = re.compile(r'<li id="([^"<>]+)">')
_BACK: Final = re.compile(r' ?<a class="footnote-back" href="[^"<>]*">[^<>]*(?:<sup>\d+</sup>)?</a>')


class TooLarge(Exception):
    """The canonical form has too many parts."""


def canonical(html: str) -> str:
    """Return the canonical form of clean HTML. It is clean HTML itself, except that ids and footnotes are simplified.

    Raises:
        TooLarge: The canonical form has too many parts.
    """
    html = _without_figures(_CAPTIONED.sub(_captioned, _number_footnotes(html)))
    writer = _Writer(frozenset(map(unescape, _LINKED.findall(html))))
    for token in tags.tokens(html):
        if token.name:
            writer.tag(token)
        else:
            writer.text(unescape(token.text))
        writer.follows_pre = token.name == "pre" and not token.closing
    return writer.end()


def _captioned(match: re.Match[str]) -> str:
    """Return a photo with a caption as Markdown expresses it: the caption is the title of a photo in a paragraph."""
    caption = " ".join(unescape(match[2]).split())
    return f'<p><img{match[1]} title="{tags.quote(caption)}"></p>' if caption else f"<p><img{match[1]}></p>"


def _without_figures(html: str) -> str:
    """Return `html` with each `<figure>` that has neither a caption nor attributes replaced with a `<div>`."""
    pieces: list[str] = []
    # The open figures: the index of the start tag in `pieces`, or -1 if the figure is kept.
    figures: list[int] = []
    position = 0
    for match in _FIGURE.finditer(html):
        closes, name, attributes = match.groups()
        pieces += html[position : match.start()], match[0]
        position = match.end()
        if name == "figcaption":
            figures[-1:] = [-1] * bool(figures)
        elif not closes:
            figures.append(-1 if attributes else len(pieces) - 1)
        elif figures and (start := figures.pop()) >= 0:
            pieces[start] = "<div>"
            pieces[-1] = "</div>"
    return "".join(pieces) + html[position:]


def _number_footnotes(html: str) -> str:
    """Return `html` with numbers instead of the links between references and footnotes.

    Footnotes in another form, or in another order than their references, are not changed.
    """
    notes = _NOTES.search(html, html.rfind('<div class="footnotes">')) if 'class="footnotes"' in html else None
    if not notes:
        return html
    numbers = {target: str(number) for number, target in enumerate(_NOTE.findall(notes[1]), 1)}
    text = html[: notes.start()]
    references = list(_REFERENCE.finditer(text))
    in_order = list(dict.fromkeys(reference[1] for reference in references))
    if in_order != list(numbers) or any(numbers[reference[1]] != reference[2] for reference in references):
        return html
    text = _REFERENCE.sub(r'<sup class="footnote-ref">\2</sup>', text)
    items = _NOTE.sub(lambda note: f'<li id="fn:{numbers[note[1]]}">', _BACK.sub("", notes[1]))
    return f'{text}<div class="footnotes"><ol>{items}</ol></div>'


class _Inline:
    """An open inline element. Its start tag is written only when content follows."""

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.written_name = name if attributes else _RENAMED.get(name, name)
        self.attributes = attributes
        self.is_written = False


class _Writer:
    """A writer of canonical HTML. `linked` contains the ids to which links in the text refer."""

    def __init__(self, linked: frozenset[str]) -> None:
        self.linked = linked
        self.parts: list[str] = []
        # The open blocks: the name, and the end tag, which is "" for a <div> that isn't written.
        self.blocks: list[tuple[str, str]] = []
        self.inline: list[_Inline] = []
        # Whether a paragraph is open that isn't in the original.
        self.in_implicit = False
        # Whether nothing has been written in the current line of text, and whether a space is written if text follows.
        self.is_edge = True
        self.space = False
        # The line breaks that are written only if content follows.
        self.breaks = 0
        self.preformatted = 0
        self.follows_pre = False
        # Line breaks in preformatted text that are written only if text follows.
        self.line_breaks = ""
        self.heading_start = 0
        self.heading_id = ""

    def text(self, text: str) -> None:
        if self.preformatted:
            # Browsers drop a line break after <pre>.
            self._write_code(text.removeprefix("\n") if self.follows_pre else text)
            return
        words = text.strip(_WHITE_SPACE)
        self.space = self.space or text[:1].strip(_WHITE_SPACE) == ""
        if not words:
            return
        self._begin_content()
        self._add(_escaped(_SPACES.sub(" ", words)))
        self.space = text[-1] in _WHITE_SPACE

    def tag(self, token: tags.Token) -> None:
        name = token.name
        if token.closing:
            if name in INLINE:
                self._end_inline(name)
            else:
                self._end_block(name)
            return
        attributes = {key: value for key, value in tags.attributes(token.text).items() if key not in _UNSEEN}
        for key in attributes.keys() & {"href", "src"}:
            attributes[key] = normalizeLink(attributes[key])
        if name == "br":
            if self.preformatted:
                self._write_code("\n")
            else:
                self.breaks += 1
        elif name in tags.VOID and name in INLINE:
            self._begin_content()
            self._add(_start_tag(name, attributes))
        elif name in INLINE:
            self.inline.append(_Inline(name, attributes))
        else:
            self._begin_block(name, attributes)

    def end(self) -> str:
        """Return the HTML."""
        self._boundary()
        return "".join(self.parts)

    # Inline content --------------------------------------------------------------------------------------------------

    def _begin_content(self) -> None:
        """Write what must precede text or a picture: a paragraph, a space, and the start tags of inline elements."""
        if not self.in_implicit and (self.blocks[-1][0] if self.blocks else "") in _CONTAINERS:
            self._add("<p>")
            self.in_implicit = True
        if not self.is_edge and (self.breaks or self.space):
            self._add("<br>" * self.breaks or " ")
        self.breaks = 0
        self.space = self.is_edge = False
        self._write_inline()

    def _write_inline(self) -> None:
        for element in self.inline:
            # A <span> without attributes has no meaning.
            if not element.is_written and (element.attributes or element.name != "span"):
                self._add(_start_tag(element.written_name, element.attributes))
                element.is_written = True
                element.attributes.pop("id", None)

    def _write_code(self, text: str) -> None:
        """Write preformatted text, without the line breaks at the end, which Markdown always adds to code."""
        text = self.line_breaks + text
        self.line_breaks = text[len(text.rstrip("\n")) :]
        if text := text.rstrip("\n"):
            self._write_inline()
            is_first = self.parts[-1].startswith("<pre") and text[0] == "\n"
            self._add(("\n" if is_first else "") + _escaped(text))

    def _end_inline(self, name: str) -> None:
        for index in range(len(self.inline) - 1, -1, -1):
            if self.inline[index].name == name:
                break
        else:
            return
        element = self.inline[index]
        if "id" in element.attributes:
            # An element without content can be the target of links.
            self._begin_content()
        if element.is_written:
            self._close_written(index)
        del self.inline[index]

    def _close_written(self, index: int) -> None:
        """Write the end tags of the inline elements from `index` on. If content follows, they are opened again."""
        for element in reversed(self.inline[index:]):
            if element.is_written:
                self._add(f"</{element.written_name}>")
                element.is_written = False

    # Blocks ----------------------------------------------------------------------------------------------------------

    def _boundary(self) -> None:
        """End the line before the start or the end of a block."""
        self._close_written(0)
        if self.in_implicit:
            self.in_implicit = False
            self._end_paragraph()
        self.space = False
        self.breaks = 0
        self.is_edge = True
        self.line_breaks = ""

    def _begin_block(self, name: str, attributes: dict[str, str]) -> None:
        if name == "div" and not attributes:
            if self.blocks and self.blocks[-1][0] not in _CONTAINERS:
                self._divide()
                self.blocks.append((self.blocks[-1][0], ""))
            else:
                self._boundary()
                self.blocks.append(("div", ""))
            return
        self._boundary()
        if name in HEADINGS:
            self.heading_id = attributes.pop("id", "")
        self._add(_start_tag(name, attributes))
        if name in tags.VOID:
            return
        self.blocks.append((name, f"</{name}>"))
        self.preformatted += name == "pre"
        if name in HEADINGS:
            self.heading_start = len(self.parts)

    def _divide(self) -> None:
        """Begin or end a <div> inside a line, where it is a line break."""
        self._close_written(0)
        self.breaks = max(self.breaks, 1)

    def _end_block(self, name: str) -> None:
        if not self.blocks:
            return
        end_tag = self.blocks[-1][1]
        if not end_tag:
            is_line = self.blocks.pop()[0] not in _CONTAINERS
            if is_line:
                self._divide()
            else:
                self._boundary()
            return
        self._boundary()
        self.blocks.pop()
        if name == "p":
            self._end_paragraph()
            return
        if name in HEADINGS:
            self._identify_heading(name)
        if name == "pre":
            self.preformatted -= 1
        self._add(end_tag)

    def _end_paragraph(self) -> None:
        """Write the end tag of a paragraph. An empty paragraph is left out."""
        if self.parts and self.parts[-1] == "<p>":
            self.parts.pop()
        else:
            self._add("</p>")

    def _identify_heading(self, name: str) -> None:
        """Write the id of a heading.

        If the site generates the same id from the text, it is written only if a link refers to the heading. Any other id
        becomes an element, because a heading in Markdown has no id of its own.
        """
        text = html_to_text("".join(self.parts[self.heading_start :]))
        automatic = anchors.prefix_id(slugify(text)) or f"{anchors.ID_PREFIX}section"
        is_automatic = re.fullmatch(rf"{re.escape(automatic)}(?:-\d+)?", self.heading_id)
        if is_automatic:
            if self.heading_id in self.linked:
                self.parts[self.heading_start - 1] = f'<{name} id="{tags.quote(self.heading_id)}">'
        elif self.heading_id and (self.heading_id in self.linked or not _AUTOMATIC.match(self.heading_id)):
            self.parts.insert(self.heading_start, f'<a id="{tags.quote(self.heading_id)}"></a>')

    def _add(self, part: str) -> None:
        if len(self.parts) > MAX_PARTS:
            raise TooLarge
        self.parts.append(part)


def _escaped(text: str) -> str:
    return escape(text, quote=False).replace("\xa0", "&nbsp;")


def _start_tag(name: str, attributes: dict[str, str]) -> str:
    pairs = "".join(f' {key}="{tags.quote(value)}"' for key, value in sorted(attributes.items()))
    return f"<{name}{pairs}>"
