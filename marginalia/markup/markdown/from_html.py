"""Conversion of clean HTML to Markdown that renders as the same page.

The text is converted block by block, with markdownify. Each block is rendered, and compared with its HTML. A block that
Markdown can't express stays HTML, which Markdown can contain. Inline elements such as `<kbd>` stay HTML too. At the end,
the whole text is rendered and compared.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from bs4 import BeautifulSoup
from bs4.dammit import EntitySubstitution
from bs4.element import NavigableString, PageElement, Tag
from bs4.formatter import HTMLFormatter
from markdownify import ATX, MarkdownConverter

from marginalia.markup.html.canonical import HEADINGS, INLINE, TooLarge, canonical
from marginalia.markup.markdown.rendering import render

__all__ = ["to_markdown"]

# Limits for a text. No real post is longer.
MAX_LENGTH: Final = 1_000_000  # characters
MAX_TAGS: Final = 20_000

# The attributes that Markdown can express. An element with other attributes stays HTML.
_ATTRIBUTES: Final = {
    **dict.fromkeys(HEADINGS, {"id"}),
    "a": {"href", "title"},
    "code": {"class"},
    "img": {"alt", "src", "title"},
    "ol": {"start"},
    "sup": {"class"},
    "td": {"align"},
    "th": {"align"},
}
_SPECIAL: Final = re.compile(
    r"[\\`*_\[\]<>~^$|@]|&(?=#?\w+;)|=(?==)|:(?=//|:)|!\Z|(?<=\bwww)\.", re.IGNORECASE | re.ASCII
)
_LINE_START: Final = re.compile(r"(\d{1,9})(?=[.)])|(?=[-+#:=])")
_BLANK_LINE: Final = re.compile(r"\n(?=[ \t]*\n)")
_URL: Final = re.compile(r"[^\s<>()\\]+")
_WORD: Final = re.compile(r"\w{1,40}")
_LANGUAGE: Final = re.compile(r"language-([\w#.-]+)")
_FORMATTER: Final = HTMLFormatter(EntitySubstitution.substitute_xml, void_element_close_prefix="")
_NOTE_MARK: Final = re.compile(r"\[\^(\d+)\]")
_NOTE_ID: Final = re.compile(r"\Afn:\d+\Z")
_REFERENCE: Final = '<sup class="footnote-ref">'


def to_markdown(html: str) -> str | None:
    """Return Markdown for the clean `html`. Readers see no difference between the two (`markup.html.canonical`).

    Return None if there is no such Markdown, for example because the text is too large.
    """
    if len(html) > MAX_LENGTH or html.count("<") > 2 * MAX_TAGS:
        return None
    try:
        wanted = canonical(html)
        markdown = "\n\n".join(_blocks(_parse(wanted).contents))
        return markdown if canonical(render(markdown, "article")) == wanted else None
    except (TooLarge, RecursionError):
        return None


def _parse(html: str) -> BeautifulSoup:
    return BeautifulSoup(html, "html.parser")


def _blocks(elements: Iterable[PageElement]) -> Iterator[str]:
    """Yield the Markdown of each block in canonical HTML."""
    previous = ""
    for element in elements:
        if not isinstance(element, Tag):
            continue
        if element.name == "div":
            yield from _division(element)
            previous = ""
            continue
        # Two lists in a row need different markers. Otherwise, they would be one list.
        has_other_marker = element.name == previous
        yield _block(element, has_other_marker=has_other_marker)
        previous = "" if has_other_marker else element.name


def _division(element: Tag) -> Iterator[str]:
    """Yield the Markdown of an insert, of the footnotes, or of a `<div>` with attributes."""
    if directive := element.attrs.get("data-insert"):
        if element.contents:
            yield f":::{directive}"
            yield from _blocks(element.contents)
            yield ":::"
        else:
            yield f"::{directive}"
    elif element.find("li", id=_NOTE_ID):
        for note in element.find_all("li", id=_NOTE_ID):
            text = _indent("\n\n".join(_blocks(note.contents)), 4)
            yield f"[^{str(note['id']).removeprefix('fn:')}]: {text}"
    else:
        yield _as_html(element).partition(">")[0] + ">"
        yield from _blocks(element.contents)
        yield "</div>"


def _block(element: Tag, *, has_other_marker: bool = False) -> str:
    """Return a block as the simplest Markdown that renders correctly, or as HTML."""
    html = _as_html(element)
    if element.name == "p" and not element.find(True) and not element.get_text().strip():
        # markdownify would leave out no-break spaces.
        return element.get_text().replace("\xa0", "&nbsp;")
    wanted = canonical(html)
    for escapes, marks in ((False, True), (True, True), (False, False), (True, False)):
        converter = _Converter(element, escapes=escapes, marks=marks, has_other_marker=has_other_marker)
        try:
            markdown = converter.process_tag(element).strip("\n")
        except _NotMarkdownError:
            break
        # A reference is rendered only together with its footnote.
        if canonical(render(_NOTE_MARK.sub(rf"{_REFERENCE}\1</sup>", markdown), "article")) == wanted:
            return markdown
    return html if element.name == "pre" else _BLANK_LINE.sub("&#10;", html)


def _as_html(element: Tag) -> str:
    return str(element.decode(formatter=_FORMATTER)).replace("\xa0", "&nbsp;")


class _NotMarkdownError(Exception):
    """The block contains an element that Markdown can't express."""


# The stubs of markdownify lack the methods that subclasses override.
_MarkdownConverter: Any = MarkdownConverter


class _Converter(_MarkdownConverter):
    """A converter for one block of canonical HTML. Elements that Markdown can't express become HTML inside Markdown.

    If `escapes` is true, the text is escaped. If `marks` is false, emphasis and bare URLs are written in the long form,
    which works next to all characters.
    """

    def __init__(self, block: Tag, *, escapes: bool, marks: bool, has_other_marker: bool) -> None:
        super().__init__(wrap=True, wrap_width=None, heading_style=ATX)
        self.escapes = escapes
        self.marks = marks
        # The marker of each list item, and whether an empty line follows the item.
        self.items: dict[int, tuple[str, bool]] = {}
        for list_element in [block, *block.find_all(["ul", "ol"])]:
            if list_element.name in ("ul", "ol"):
                self._number_items(list_element, has_other_marker=has_other_marker and list_element is block)

    def _number_items(self, element: Tag, *, has_other_marker: bool) -> None:
        items = [child for child in element.contents if isinstance(child, Tag) and child.name == "li"]
        is_loose = any(isinstance(child, Tag) and child.name == "p" for item in items for child in item.contents)
        first = int(str(element.get("start", "1")))
        for number, item in enumerate(items, first):
            if element.name == "ul":
                marker = "* " if has_other_marker else "- "
            else:
                marker = f"{number}) " if has_other_marker else f"{number}. "
            self.items[id(item)] = marker, is_loose

    def get_conv_fn(self, tag_name: str) -> Any:
        convert = super().get_conv_fn(tag_name) if tag_name in _CONVERTED else None

        def convert_or_keep(element: Tag, text: str, parent_tags: set[str]) -> str:
            if convert and element.attrs.keys() <= _ATTRIBUTES.get(tag_name, set()):
                return str(convert(element, text, parent_tags))
            return self._keep(element, text)

        return convert_or_keep

    def _keep(self, element: Tag, text: str) -> str:
        """Return an inline element as HTML whose content is Markdown."""
        if element.name not in INLINE:
            raise _NotMarkdownError
        start_tag = _as_html(element).partition(">")[0] + ">"
        return start_tag if element.is_empty_element else f"{start_tag}{text}</{element.name}>"

    # Text ------------------------------------------------------------------------------------------------------------

    def process_text(self, el: NavigableString, parent_tags: set[str] | None = None) -> str:
        text = str(el)
        if self.escapes and not {"pre", "code"} & (parent_tags or set()):
            text = _SPECIAL.sub(r"\\\g<0>", text)
            if start := _LINE_START.match(text) if _starts_line(el) else None:
                text = f"{start[0]}\\{text[start.end() :]}"
            return text.replace("\xa0", "&nbsp;")
        return text

    def convert_br(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return "<br>" if "_inline" in parent_tags else "\\\n"

    # Inline elements -------------------------------------------------------------------------------------------------

    def _mark(self, mark: str, el: Tag, text: str) -> str:
        return f"{mark}{text}{mark}" if self.marks else self._keep(el, text)

    def convert_strong(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return self._mark("**", el, text)

    def convert_em(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return self._mark("*", el, text)

    def convert_s(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return self._mark("~~", el, text)

    def convert_mark(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return self._mark("==", el, text)

    def convert_sub(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"~{text}~" if self.marks and _WORD.fullmatch(text) else self._keep(el, text)

    def convert_sup(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if el.attrs:
            return f"[^{text}]" if el.attrs["class"] == ["footnote-ref"] and not el.find("a") else self._keep(el, text)
        return f"^{text}^" if self.marks and _WORD.fullmatch(text) else self._keep(el, text)

    def convert_code(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "pre" in parent_tags:
            return text
        if el.find(True):
            raise _NotMarkdownError
        if not el.attrs:
            return str(super().convert_code(el, text, parent_tags))
        return f"${text}$" if _language(el) == "math" else self._keep(el, text)

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        href = str(el.get("href", ""))
        if not href:
            return self._keep(el, text)
        if self.marks and el.get_text() == href and "title" not in el.attrs and not el.find(True):
            return f"<{href}>"
        return f"[{text}]({_target(el, 'href')})"

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "src" not in el.attrs:
            return self._keep(el, text)
        alt = str(el.get("alt", ""))
        if self.escapes:
            alt = _SPECIAL.sub(r"\\\g<0>", alt)
        return f"![{alt}]({_target(el, 'src')})"

    # Blocks ----------------------------------------------------------------------------------------------------------

    def convert_list(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return ("\n" if "li" in parent_tags else "\n\n") + text.strip("\n") + "\n"

    convert_ul = convert_list
    convert_ol = convert_list

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        marker, is_loose = self.items.get(id(el), ("- ", False))
        lines = _indent(text.strip("\n"), len(marker))
        return f"{marker}{lines}".rstrip(" ") + ("\n\n" if is_loose else "\n")

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        code = el.contents[0] if len(el.contents) == 1 else None
        if not isinstance(code, Tag) or code.name != "code" or code.find(True):
            raise _NotMarkdownError
        source = code.get_text()
        fence = "`" * max(3, max(map(len, re.findall("`+", source)), default=0) + 1)
        return f"\n\n{fence}{_language(code)}\n{source}\n{fence}\n\n"

    def convert_dl(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"\n\n{text.strip()}\n\n"

    def convert_dt(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"\n\n{text}\n"

    def convert_dd(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f": {text}\n"

    def convert_tbody(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return text

    convert_thead = convert_tbody

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        text = text.strip("\n")
        return f" {text} |" if self.escapes else " " + text.replace("|", "\\|") + " |"

    convert_th = convert_td

    def convert_tr(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        cells = [cell for cell in el.contents if isinstance(cell, Tag)]
        row = f"|{text}\n"
        if el.parent is None or el.parent.name != "thead":
            return row
        return f"{row}|{'|'.join(_RULES[str(cell.get('align', ''))] for cell in cells)}|\n"


_RULES: Final = {"": " --- ", "left": " :-- ", "center": " :-: ", "right": " --: "}
_CONVERTED: Final = (
    HEADINGS
    | {"a", "blockquote", "br", "code", "dd", "dl", "dt", "em", "hr", "img", "li", "mark", "ol", "p", "pre", "s"}
    | {"strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"}
)


def _starts_line(text: NavigableString) -> bool:
    """Return whether `text` is at the start of a line in its block."""
    element: PageElement = text
    while element.previous_sibling is None and element.parent is not None and element.parent.name in INLINE:
        element = element.parent
    return element.previous_sibling is None or getattr(element.previous_sibling, "name", "") == "br"


def _indent(text: str, width: int) -> str:
    """Indent all lines of `text` except the first line and empty lines."""
    return re.sub(r"\n(?=[^\n])", "\n" + " " * width, text)


def _language(code: Tag) -> str:
    """Return the language of a code element, or "" if it has none."""
    found = _LANGUAGE.fullmatch(" ".join(str(word) for word in code.get("class") or ()))
    return found[1] if found else ""


def _target(element: Tag, name: str) -> str:
    """Return the URL and the title of a link or picture in Markdown."""
    url = str(element[name])
    if not _URL.fullmatch(url):
        url = f"<{_escape(url, '<>')}>"
    title = str(element.get("title", ""))
    return f'{url} "{_escape(title, chr(34))}"' if title else url


def _escape(text: str, characters: str) -> str:
    """Return `text` with a backslash before each backslash and before each of `characters`."""
    for character in "\\" + characters:
        text = text.replace(character, "\\" + character)
    return text
