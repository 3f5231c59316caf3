"""Turns the body of a WordPress post into HTML that stands by itself.

Block markers and shortcodes are resolved, paragraphs made, links to the old site's pages led to the new ones. What this
site has inserts for becomes one (wordpress/texts/inserts.py), what cannot be shown (missing pictures, other players) a
link. The result is not yet clean: nothing here decides what is safe.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Protocol
from urllib.parse import unquote, urljoin, urlsplit

from marginalia.markup.characters import is_blank
from marginalia.markup.inserts.shipped import Gallery
from wordpress.texts import blocks, inserts
from wordpress.texts.paragraphs import paragraphs
from wordpress.texts.shortcodes import expand, label_of
from wordpress.texts.tokens import BLOCKS, TAG, Token, attributes, link, tokens

__all__ = ["Body", "File", "Library", "convert", "plain", "slug_of"]

NEXT_PAGE = re.compile(r"<!--\s*nextpage\s*-->")
BLOCK_MARKER = re.compile(r"<!--\s*wp:")
# WordPress turns an address on a line of its own into what it shows there.
LONE_URL = re.compile(r"^[ \t]*(https?://[^\s<>\"\[\]]+)[ \t]*$", re.MULTILINE)
BLANK_LINES = re.compile(r"\n\s*\n")
EMOJI = re.compile(r"\b(?:wp-smiley|emoji)\b")
YOUTUBE = re.compile(r"https?://(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/([\w-]+)")
SLIDESHARE = re.compile(r"https?://(?:www\.)?slideshare\.net/slideshow/embed_code/(?:key/)?\w+")
GIST = re.compile(r"(https://gist\.github\.com/[\w/-]+)\.js(?:\?|\Z)")
VIMEO = re.compile(r"https?://player\.vimeo\.com/video/(\d+)")
PLAYERS = {"audio", "video", "iframe", "object", "embed"}
# The parameters of an <object> that name what it shows.
MOVIE = {"movie", "src", "url"}
NEVER_SHOWN = {"script", "style", "template", "noscript"}
# Elements of which a clean text has nothing, not even words.
LOST = {"form", "input", "select", "textarea", "svg", "canvas", "math"}
# Attributes with the URL of a picture. The others are those of plugins that put a placeholder into `src`.
SOURCES = ("src", "data-src", "data-lazy-src", "data-original", "data-orig-file")
NUMBERED = re.compile(r"\bwp-image-(\d{1,18})\b")
NUMBER = re.compile(r"(\d{1,18})\Z")
# Covers and groups show a picture behind their text; elements that can have one in front of it.
BACKGROUND = re.compile(r"""\bbackground(?:-image)?\s*:[^;]*?\burl\(\s*["']?([^"')]+)""", re.IGNORECASE)
BACKED = {"div", "section", "figure", "header", "footer", "aside", "article", "main", "td", "p", "span"}
FOOTNOTES = re.compile(r"<!--\s*wp:footnotes\s*/?-->")
# Blocks that show nothing of their own, or whose contents are put in.
EMPTY_BLOCKS = {"paragraph", "footnotes", "nextpage", "more", "spacer", "separator"}


@dataclass(frozen=True, slots=True)
class File:
    """A file of the old site. `url` is where it was; `src` where it is on the new site, and `page` the address of its page
    there: "" when it is not there, or not for visitors."""

    url: str
    title: str = ""
    src: str = ""
    page: str = ""


class Library(Protocol):
    """What the converter has to know of the rest of the export."""

    def page(self, url: str) -> str:
        """The new address of the old site's page at `url` (absolute); "" when it is none that visitors may see."""

    def file(self, url: str, number: int = 0) -> File:
        """The picture at `url` (absolute), the old site's or another's; `number` is the old site's id of it, 0 if unknown."""

    def gallery(self, ids: Sequence[int]) -> Sequence[File]:
        """The pictures with these ids, or, without any, the post's own."""

    def pattern(self, number: int) -> str | None:
        """The content of the synced pattern with this id; None when it is not there."""


@dataclass(frozen=True, slots=True)
class Body:
    """A converted body: `missing` are the addresses of pictures and players that became links; `lost` is what left
    nothing: shortcodes, blocks, elements, footnotes, in words."""

    html: str
    missing: tuple[str, ...]
    lost: tuple[str, ...]


def convert(source: str, base: str, library: Library, footnotes: str = "") -> Body:
    """Convert `source`, the body of the post that was at the absolute address `base`. `footnotes` are those that
    WordPress stored beside it, as JSON."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    missing: dict[str, None] = {}
    lost: dict[str, None] = {}
    source = blocks.with_patterns(source, library.pattern, lost)
    return Body(_html(source, base, library, footnotes, missing, lost), tuple(missing), tuple(lost))


def plain(html: str) -> str:
    """`html`, a title or an excerpt, as text on one line: tags go, character references are resolved. A "<" that
    begins no tag stays."""
    kept = TAG.sub(lambda tag: " " if tag[2].lower() in BLOCKS | {"br"} else "", html)
    text = " ".join(unescape(kept).split())
    return "" if is_blank(text) else text


def slug_of(text: str) -> str:
    """`text` as part of an address, in any script: its letters and digits in lower case, joined by hyphens. "" when it
    has none. An address's own escapes (%ce%b5) are resolved."""
    text = unicodedata.normalize("NFC", unquote(text, errors="ignore")).lower()
    kept = "".join(letter if _is_word(letter) else "-" for letter in unicodedata.normalize("NFC", text))
    return re.sub("-+", "-", kept).strip("-_")


def _is_word(letter: str) -> bool:
    return letter == "_" or unicodedata.category(letter)[0] in "LMN"


def _html(
    source: str, base: str, library: Library, footnotes: str, missing: dict[str, None], lost: dict[str, None]
) -> str:
    """The HTML of `source`; what became a link is added to `missing`, what left nothing to `lost`."""

    made = 0

    def gallery(values: dict[str, str]) -> str:
        nonlocal made
        numbers = [int(number) for number in re.findall(r"\d{1,18}", values.get("ids", ""))]
        files = library.gallery(numbers)
        if len(files) < len(numbers) and files:
            lost.setdefault(f"{len(numbers) - len(files)} of the {len(numbers)} pictures of a gallery")
        placed = inserts.galleries([file.src for file in files])
        if placed and made + len(placed) <= Gallery.most:
            made += len(placed)
            return "\n".join(placed)
        # By their old addresses, as all pictures of the text are: the rewriter knows where they are now.
        rows = "".join(f'<li><img src="{escape(file.url)}" alt="{escape(file.title)}"></li>\n' for file in files)
        return f"<ul>\n{rows}</ul>" if rows else ""

    # Blocks come with their paragraphs; WordPress too leaves the layout of such a body alone.
    has_blocks = bool(BLOCK_MARKER.search(source))
    expanded = expand(NEXT_PAGE.sub("\n\n<hr>\n\n", source), gallery)
    lost |= dict.fromkeys(f"[{name}]" for name in expanded.dropped)
    notes = blocks.read_footnotes(footnotes)
    if notes is None:
        lost.setdefault("the footnotes, which cannot be read")
    text = blocks.with_marks(_without_markers(expanded.text, lost), notes or [], lost)
    rewriter = _Rewriter(base, library, missing, lost)
    html = rewriter.rewrite(text)
    html = inserts.placed(html.strip() if has_blocks else paragraphs(html))
    if notes and (FOOTNOTES.search(source) or 'class="footnote-ref"' in text):
        html += "\n" + blocks.footnote_list([rewriter.rewrite(note.html) for note in notes])
    return html


def _without_markers(text: str, lost: dict[str, None]) -> str:
    """A text without comments. Its pictures keep the numbers that their blocks give; blocks that showed what is not in the
    text are added to `lost`."""
    parts: list[str] = []
    number = 0
    for token in tokens(text):
        if token.kind == "comment":
            if block := blocks.parse(token):
                number = block.picture
                if block.is_empty and block.name not in EMPTY_BLOCKS:
                    lost.setdefault(f"{blocks.LOST_BLOCK}{block.name}")
            continue
        if number and token.name == "img":
            parts.append(f'<img data-id="{number}" {token.source[len("<img") :].lstrip()}')
            number = 0
        else:
            parts.append(token.source)
    return "".join(parts)


def _picture(file: File, missing: dict[str, None], alt: str = "", *, linked: bool = False) -> str:
    """A picture, or what stands for one that is not there: a link to where it was, or words inside a link."""
    text = alt or file.title or label_of(file.url)
    if file.src:
        return f'<img src="{escape(file.src)}" alt="{escape(alt or file.title)}">'
    missing.setdefault(file.url)
    return escape(text, quote=False) if linked else link(file.url, text)


class _Rewriter:
    """Goes over the tags of one body and changes where they lead."""

    def __init__(self, base: str, library: Library, missing: dict[str, None], lost: dict[str, None]) -> None:
        self.base = base
        self.library = library
        self.missing = missing
        self.lost = lost
        self.in_link = False

    def rewrite(self, html: str) -> str:
        """`html` with its links led on and its pictures and players as they can be shown."""
        changed: dict[str, Callable[[Token], str]] = {"a": self.anchor, "img": self.image}
        parts: list[str] = []
        for token in tokens(html):
            if token.name in LOST and token.kind != "close":
                self.lost.setdefault(f"<{token.name}>")
            if token.name in NEVER_SHOWN:
                parts.append(self.gist(token))
                continue
            if token.kind == "text" and token.source.isspace():
                # What is left of the lines that only had block markers.
                parts.append(BLANK_LINES.sub("\n\n", token.source))
            elif token.kind == "text":
                parts.append(token.source if self.in_link else LONE_URL.sub(_lone_link, token.source))
            elif token.kind in ("whole", "void") and token.name in PLAYERS:
                parts.append(self.player(token))
            elif token.kind in ("open", "void") and token.name in changed:
                parts.append(changed[token.name](token))
            elif token.kind == "open" and token.name in BACKED and "background" in token.rest:
                parts.append(token.source + self.background(token))
            else:
                self.in_link = self.in_link and (token.kind, token.name) != ("close", "a")
                parts.append(token.source)
        return "".join(parts)

    def absolute(self, address: str) -> str:
        """`address` as it was seen from the post; "" when it is none of the web's."""
        if not address:
            return ""
        try:
            url = urljoin(self.base, address.strip())
            return url if urlsplit(url).scheme in ("http", "https") else ""
        except ValueError:
            return ""

    def anchor(self, token: Token) -> str:
        """The start of a link: to the new place of an old page, else to where it led."""
        self.in_link = True
        values = attributes(token.rest)
        if name := values.pop("name", ""):
            # How places in a text were named before HTML 4.
            values.setdefault("id", name)
        address = values.get("href", "")
        # mailto: and the like stay; the cleaning decides which of them are allowed.
        if address and not address.startswith("#") and (url := self.absolute(address)):
            values["href"] = self.library.page(url) or url
        elif not name:
            return token.source
        return "<a" + "".join(f' {name}="{escape(value)}"' for name, value in values.items()) + ">"

    def image(self, token: Token) -> str:
        """A picture by its new address, or what stands for it: pages here show none from elsewhere."""
        values = attributes(token.rest)
        alt = values.get("alt", "").strip()
        if EMOJI.search(values.get("class", "")):
            return escape(alt, quote=False)
        url = next((url for name in SOURCES if (url := self.absolute(values.get(name, "")))), "")
        if not url:
            if values.get("src", "").lstrip().lower().startswith("data:"):
                self.lost.setdefault("a picture stored in the text")
            return escape(alt, quote=False)
        file = self.library.file(url, self.number(values))
        return _picture(file, self.missing, alt or values.get("title", "").strip(), linked=self.in_link)

    def background(self, token: Token) -> str:
        """Return the background picture of an element as a picture before its content; "" if there is none."""
        values = attributes(token.rest)
        found = BACKGROUND.search(values.get("style", ""))
        url = self.absolute(found[1]) if found else ""
        if not url:
            return ""
        file = self.library.file(url, self.number(values))
        return _picture(file, self.missing, values.get("aria-label", "").strip(), linked=self.in_link)

    @staticmethod
    def number(values: dict[str, str]) -> int:
        """Return the old site's id of the picture that an element shows; 0 if it doesn't tell."""
        found = NUMBERED.search(values.get("class", "")) or NUMBER.match(values.get("data-id", ""))
        return int(found[1]) if found else 0

    def player(self, token: Token) -> str:
        """A link in place of a player, an embedded page included."""
        found = next((piece for piece in self.sources(token) if piece), "")
        if not found:
            self.lost.setdefault(f"<{token.name}>")
            return ""
        if video := YOUTUBE.match(found):
            found = f"https://www.youtube.com/watch?v={video[1]}"
        elif video := VIMEO.match(found):
            found = f"https://vimeo.com/{video[1]}"
        elif slides := SLIDESHARE.match(found):
            found = slides[0]
        if token.name in ("audio", "video"):
            self.missing.setdefault(found)
        return escape(label_of(found), quote=False) if self.in_link else link(found, label_of(found))

    def sources(self, token: Token) -> list[str]:
        """The addresses that a player names, in itself and in what stands inside it."""
        inner = token.source[len(token.name) + 1 :] if token.name in ("audio", "video", "object") else ""
        found = [attributes(token.rest)]
        found += [attributes(piece.rest) for piece in tokens(inner) if piece.name in ("source", "embed", "param")]
        values = (
            each.get("src") or each.get("data") or (each.get("name") in MOVIE and each.get("value")) for each in found
        )
        return [self.absolute(value) for value in values if value]

    def gist(self, token: Token) -> str:
        """A link to the gist that a script would show; other scripts go."""
        found = GIST.match(self.absolute(attributes(token.rest).get("src", ""))) if token.name == "script" else None
        if found and not self.in_link:
            return link(found[1], found[1])
        if token.name == "script" and token.kind != "close":
            self.lost.setdefault("<script>")
        return ""


def _lone_link(found: re.Match[str]) -> str:
    url = unescape(found[1])
    return found[0].replace(found[1], link(url, url))
