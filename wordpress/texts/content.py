"""Conversion of the body of a WordPress post to plain HTML that doesn't depend on WordPress.

The conversion resolves block markers and shortcodes, adds paragraphs, and replaces links to the old site with links to
the new URLs. Some content becomes inserts (wordpress/texts/inserts.py). Content that can't be shown, such as missing
pictures and unknown players, becomes a link. The result is not sanitized yet.
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

__all__ = ["Body", "File", "Library", "convert", "plain", "make_slug"]

NEXT_PAGE = re.compile(r"<!--\s*nextpage\s*-->")
BLOCK_MARKER = re.compile(r"<!--\s*wp:")
# A URL on its own line. WordPress embeds the content of such a URL.
LONE_URL = re.compile(r"^[ \t]*(https?://[^\s<>\"\[\]]+)[ \t]*$", re.MULTILINE)
BLANK_LINES = re.compile(r"\n\s*\n")
EMOJI = re.compile(r"\b(?:wp-smiley|emoji)\b")
YOUTUBE = re.compile(r"https?://(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/([\w-]+)")
SLIDESHARE = re.compile(r"https?://(?:www\.)?slideshare\.net/slideshow/embed_code/(?:key/)?\w+")
GIST = re.compile(r"(https://gist\.github\.com/[\w/-]+)\.js(?:\?|\Z)")
VIMEO = re.compile(r"https?://player\.vimeo\.com/video/(\d+)")
PLAYERS = {"audio", "video", "iframe", "object", "embed"}
# Parameters of an <object> that contain the URL of its content.
MOVIE = {"movie", "src", "url"}
NEVER_SHOWN = {"script", "style", "template", "noscript"}
# Elements that the sanitizer removes along with their content.
LOST = {"form", "input", "select", "textarea", "svg", "canvas", "math"}
# Attributes with the URL of a picture. All except `src` are used by plugins that put a placeholder in `src`.
SOURCES = ("src", "data-src", "data-lazy-src", "data-original", "data-orig-file")
PICTURE_CLASS = re.compile(r"\bwp-image-(\d{1,18})\b")
NUMBER = re.compile(r"(\d{1,18})\Z")
# The URL of a background picture, for example of a cover or a group. If one of the BACKED elements has such a picture,
# the import shows it before the element's content.
BACKGROUND = re.compile(r"""\bbackground(?:-image)?\s*:[^;]*?\burl\(\s*["']?([^"')]+)""", re.IGNORECASE)
BACKED = {"div", "section", "figure", "header", "footer", "aside", "article", "main", "td", "p", "span"}
FOOTNOTES = re.compile(r"<!--\s*wp:footnotes\s*/?-->")
# Blocks that have no visible content, or whose content is inserted elsewhere.
EMPTY_BLOCKS = {"paragraph", "footnotes", "nextpage", "more", "spacer", "separator"}


@dataclass(frozen=True, slots=True)
class File:
    """A file of the old site.

    Attributes:
        url: The old URL.
        src: The value for `src` on the new site, or "" if the new site doesn't have the file.
        page: The URL of the file's page on the new site, or "" if readers can't see this page.
    """

    url: str
    title: str = ""
    src: str = ""
    page: str = ""


class Library(Protocol):
    """The interface that the converter uses to access other posts and files of the export."""

    def page(self, url: str) -> str:
        """Return the new URL for a page of the old site, or "" if readers can't see it. `url` is absolute."""

    def file(self, url: str, number: int = 0) -> File:
        """Return the picture at an absolute URL, on the old site or elsewhere.

        `number` is the picture's id on the old site, or 0 if the id is unknown.
        """

    def gallery(self, ids: Sequence[int]) -> Sequence[File]:
        """Return the pictures with these ids. If `ids` is empty, return the pictures of the post."""

    def pattern(self, number: int) -> str | None:
        """Return the content of a synced pattern, or None if it is missing."""


@dataclass(frozen=True, slots=True)
class Body:
    """The converted body of a post.

    Attributes:
        missing: The URLs of pictures and players that became links.
        lost: Descriptions of the shortcodes, blocks, elements and footnotes that were lost.
    """

    html: str
    missing: tuple[str, ...]
    lost: tuple[str, ...]


def convert(source: str, base: str, library: Library, footnotes: str = "") -> Body:
    """Convert the body of a post.

    Args:
        source: The body as WordPress stores it.
        base: The absolute URL of the post.
        library: The other posts and files of the export.
        footnotes: The footnotes that WordPress stored with the post, as JSON.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    missing: dict[str, None] = {}
    lost: dict[str, None] = {}
    source = blocks.expand_patterns(source, library.pattern, lost)
    return Body(_html(source, base, library, footnotes, missing, lost), tuple(missing), tuple(lost))


def plain(html: str) -> str:
    """Convert a title or an excerpt to a single line of text. Remove tags and resolve character references.

    A "<" that does not start a tag is kept.
    """
    without_tags = TAG.sub(lambda tag: " " if tag[2].lower() in BLOCKS | {"br"} else "", html)
    text = " ".join(unescape(without_tags).split())
    return "" if is_blank(text) else text


def make_slug(text: str) -> str:
    """Convert `text` to a slug: lowercase letters and digits of any script, joined with hyphens.

    URL escapes such as %ce%b5 are resolved. The result is "" if the text has no letters or digits.
    """
    text = unicodedata.normalize("NFC", unquote(text, errors="ignore")).lower()
    characters = "".join(letter if _is_word(letter) else "-" for letter in unicodedata.normalize("NFC", text))
    return re.sub("-+", "-", characters).strip("-_")


def _is_word(letter: str) -> bool:
    return letter == "_" or unicodedata.category(letter)[0] in "LMN"


def _html(
    source: str, base: str, library: Library, footnotes: str, missing: dict[str, None], lost: dict[str, None]
) -> str:
    """Return the converted HTML of `source`.

    Content that became a link is added to `missing`, and lost content is added to `lost`.
    """
    gallery_count = 0

    def gallery(values: dict[str, str]) -> str:
        nonlocal gallery_count
        numbers = [int(number) for number in re.findall(r"\d{1,18}", values.get("ids", ""))]
        files = library.gallery(numbers)
        if len(files) < len(numbers) and files:
            lost.setdefault(f"{len(numbers) - len(files)} of the {len(numbers)} photos of a gallery")
        gallery_inserts = inserts.gallery_inserts([file.src for file in files])
        if gallery_inserts and gallery_count + len(gallery_inserts) <= Gallery.most:
            gallery_count += len(gallery_inserts)
            return "\n".join(gallery_inserts)
        # Use the old URLs, as for all pictures in the post. The rewriter replaces these URLs.
        rows = "".join(f'<li><img src="{escape(file.url)}" alt="{escape(file.title)}"></li>\n' for file in files)
        return f"<ul>\n{rows}</ul>" if rows else ""

    # Blocks already contain paragraphs. WordPress does not add paragraphs to posts with blocks either.
    has_blocks = bool(BLOCK_MARKER.search(source))
    expanded = expand(NEXT_PAGE.sub("\n\n<hr>\n\n", source), gallery)
    lost |= dict.fromkeys(f"[{name}]" for name in expanded.dropped)
    notes = blocks.read_footnotes(footnotes)
    if notes is None:
        lost.setdefault("footnotes that can't be read")
    text = blocks.link_footnotes(_without_markers(expanded.text, lost), notes or [], lost)
    rewriter = _Rewriter(base, library, missing, lost)
    html = rewriter.rewrite(text)
    html = inserts.place_inserts(html.strip() if has_blocks else paragraphs(html))
    if notes and (FOOTNOTES.search(source) or 'class="footnote-ref"' in text):
        html += "\n" + blocks.render_footnotes([rewriter.rewrite(note.html) for note in notes])
    return html


def _without_markers(text: str, lost: dict[str, None]) -> str:
    """Return `text` without HTML comments.

    The ids in block markers are added to the pictures as attributes. Blocks whose content is not in `text` are added to
    `lost`.
    """
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
    """Return the HTML of a picture.

    If the picture is missing, return a link to its old URL. If `linked` is true, the missing picture is already inside
    a link, so return only the text.
    """
    text = alt or file.title or label_of(file.url)
    if file.src:
        return f'<img src="{escape(file.src)}" alt="{escape(alt or file.title)}">'
    missing.setdefault(file.url)
    return escape(text, quote=False) if linked else link(file.url, text)


class _Rewriter:
    """A rewriter for the links, pictures and players in the body of a post."""

    def __init__(self, base: str, library: Library, missing: dict[str, None], lost: dict[str, None]) -> None:
        self.base = base
        self.library = library
        self.missing = missing
        self.lost = lost
        self.in_link = False

    def rewrite(self, html: str) -> str:
        """Return `html` with new URLs in links, and with pictures and players that can be shown."""
        rewriters: dict[str, Callable[[Token], str]] = {"a": self.anchor, "img": self.image}
        parts: list[str] = []
        for token in tokens(html):
            if token.name in LOST and token.kind != "close":
                self.lost.setdefault(f"<{token.name}>")
            if token.name in NEVER_SHOWN:
                parts.append(self.gist(token))
                continue
            if token.kind == "text" and token.source.isspace():
                # Block markers on their own lines leave blank lines behind.
                parts.append(BLANK_LINES.sub("\n\n", token.source))
            elif token.kind == "text":
                parts.append(token.source if self.in_link else LONE_URL.sub(_lone_link, token.source))
            elif token.kind in ("whole", "void") and token.name in PLAYERS:
                parts.append(self.player(token))
            elif token.kind in ("open", "void") and token.name in rewriters:
                parts.append(rewriters[token.name](token))
            elif token.kind == "open" and token.name in BACKED and "background" in token.rest:
                parts.append(token.source + self.background(token))
            else:
                self.in_link = self.in_link and (token.kind, token.name) != ("close", "a")
                parts.append(token.source)
        return "".join(parts)

    def absolute(self, address: str) -> str:
        """Return the absolute form of a URL in the post, or "" if it is not an http or https URL."""
        if not address:
            return ""
        try:
            url = urljoin(self.base, address.strip())
            return url if urlsplit(url).scheme in ("http", "https") else ""
        except ValueError:
            return ""

    def anchor(self, token: Token) -> str:
        """Return the start tag of a link.

        The URL of an old page is replaced with its new URL, and other URLs are kept.
        """
        self.in_link = True
        values = attributes(token.rest)
        if name := values.pop("name", ""):
            # Before HTML 4, `name` identified a position in a page.
            values.setdefault("id", name)
        address = values.get("href", "")
        # Don't change links such as mailto:. The sanitizer decides which of them are allowed.
        if address and not address.startswith("#") and (url := self.absolute(address)):
            values["href"] = self.library.page(url) or url
        elif not name:
            return token.source
        return "<a" + "".join(f' {name}="{escape(value)}"' for name, value in values.items()) + ">"

    def image(self, token: Token) -> str:
        """Return a picture with its new URL.

        If the picture is missing, return a link to its old URL, because this site's pages show no external pictures.
        """
        values = attributes(token.rest)
        alt = values.get("alt", "").strip()
        if EMOJI.search(values.get("class", "")):
            return escape(alt, quote=False)
        url = next((url for name in SOURCES if (url := self.absolute(values.get(name, "")))), "")
        if not url:
            if values.get("src", "").lstrip().lower().startswith("data:"):
                self.lost.setdefault("an image embedded in the text")
            return escape(alt, quote=False)
        file = self.library.file(url, self.number(values))
        return _picture(file, self.missing, alt or values.get("title", "").strip(), linked=self.in_link)

    def background(self, token: Token) -> str:
        """Return the background picture of an element as HTML to show before its content, or "" if there is none."""
        values = attributes(token.rest)
        match = BACKGROUND.search(values.get("style", ""))
        url = self.absolute(match[1]) if match else ""
        if not url:
            return ""
        file = self.library.file(url, self.number(values))
        return _picture(file, self.missing, values.get("aria-label", "").strip(), linked=self.in_link)

    @staticmethod
    def number(values: dict[str, str]) -> int:
        """Return the id that the picture in an element had on the old site, or 0 if there is none."""
        match = PICTURE_CLASS.search(values.get("class", "")) or NUMBER.match(values.get("data-id", ""))
        return int(match[1]) if match else 0

    def player(self, token: Token) -> str:
        """Return a link that replaces a player or an embedded page."""
        url = next((piece for piece in self.sources(token) if piece), "")
        if not url:
            self.lost.setdefault(f"<{token.name}>")
            return ""
        if video := YOUTUBE.match(url):
            url = f"https://www.youtube.com/watch?v={video[1]}"
        elif video := VIMEO.match(url):
            url = f"https://vimeo.com/{video[1]}"
        elif slides := SLIDESHARE.match(url):
            url = slides[0]
        if token.name in ("audio", "video"):
            self.missing.setdefault(url)
        return escape(label_of(url), quote=False) if self.in_link else link(url, label_of(url))

    def sources(self, token: Token) -> list[str]:
        """Return the URLs in a player and in the elements inside it."""
        inner = token.source[len(token.name) + 1 :] if token.name in ("audio", "video", "object") else ""
        elements = [attributes(token.rest)]
        elements += [attributes(piece.rest) for piece in tokens(inner) if piece.name in ("source", "embed", "param")]
        values = (
            element.get("src") or element.get("data") or (element.get("name") in MOVIE and element.get("value"))
            for element in elements
        )
        return [self.absolute(value) for value in values if value]

    def gist(self, token: Token) -> str:
        """Return a link to the gist that a script would show, or "" for other scripts."""
        match = GIST.match(self.absolute(attributes(token.rest).get("src", ""))) if token.name == "script" else None
        if match and not self.in_link:
            return link(match[1], match[1])
        if token.name == "script" and token.kind != "close":
            self.lost.setdefault("<script>")
        return ""


def _lone_link(match: re.Match[str]) -> str:
    url = unescape(match[1])
    return match[0].replace(match[1], link(url, url))
