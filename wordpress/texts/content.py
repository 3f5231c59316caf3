"""Conversion of the body of a WordPress post to HTML that doesn't depend on WordPress.

The conversion resolves block markers and shortcodes, adds paragraphs, and replaces the URLs of links to the old site
with new URLs. Some content becomes inserts (wordpress/texts/inserts.py). Content that can't be shown, such as missing
pictures and unknown players, becomes a link. The resulting HTML still has to be sanitized.
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
# Matches a URL on a line of its own, which WordPress replaces with the content at this URL.
LONE_URL = re.compile(r"^[ \t]*(https?://[^\s<>\"\[\]]+)[ \t]*$", re.MULTILINE)
BLANK_LINES = re.compile(r"\n\s*\n")
EMOJI = re.compile(r"\b(?:wp-smiley|emoji)\b")
YOUTUBE = re.compile(r"https?://(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/([\w-]+)")
SLIDESHARE = re.compile(r"https?://(?:www\.)?slideshare\.net/slideshow/embed_code/(?:key/)?\w+")
GIST = re.compile(r"(https://gist\.github\.com/[\w/-]+)\.js(?:\?|\Z)")
VIMEO = re.compile(r"https?://player\.vimeo\.com/video/(\d+)")
PLAYERS = {"audio", "video", "iframe", "object", "embed"}
# The names of parameters of an <object> that contain the URL of its content.
MOVIE = {"movie", "src", "url"}
NEVER_SHOWN = {"script", "style", "template", "noscript"}
# Elements that the sanitizer removes completely, including their content.
LOST = {"form", "input", "select", "textarea", "svg", "canvas", "math"}
# Attributes that can contain the URL of a picture. Plugins that store a placeholder in `src` use the others.
SOURCES = ("src", "data-src", "data-lazy-src", "data-original", "data-orig-file")
PICTURE_CLASS = re.compile(r"\bwp-image-(\d{1,18})\b")
NUMBER = re.compile(r"(\d{1,18})\Z")
# Matches the URL of a background picture, for example in the style of a cover or a group. If an element that is in
# BACKED has such a picture, the converted post shows it before the content of the element.
BACKGROUND = re.compile(r"""\bbackground(?:-image)?\s*:[^;]*?\burl\(\s*["']?([^"')]+)""", re.IGNORECASE)
BACKED = {"div", "section", "figure", "header", "footer", "aside", "article", "main", "td", "p", "span"}
FOOTNOTES = re.compile(r"<!--\s*wp:footnotes\s*/?-->")
# Blocks that aren't reported as lost if they are empty, because they have no visible content, or because this module
# inserts their content elsewhere.
EMPTY_BLOCKS = {"paragraph", "footnotes", "nextpage", "more", "spacer", "separator"}


@dataclass(frozen=True, slots=True)
class File:
    """A file on the old site.

    Attributes:
        url: The old URL.
        src: The value that the attribute `src` needs on the new site, or "" if the file isn't on the new site.
        page: The URL of the page that shows the file on the new site, or "" if readers can't see such a page.
    """

    url: str
    title: str = ""
    src: str = ""
    page: str = ""


class Library(Protocol):
    """The interface through which the converter finds other posts, pages and files of the export."""

    def page(self, url: str) -> str:
        """Return the new URL for an absolute URL of the old site, or "" if readers can't see such a page."""

    def file(self, url: str, number: int = 0) -> File:
        """Return the picture at an absolute URL, which may be on the old site or elsewhere.

        `number` is the picture's id on the old site, or 0 if the id is unknown.
        """

    def gallery(self, ids: Sequence[int]) -> Sequence[File]:
        """Return the pictures with these ids. If `ids` is empty, return the pictures that were uploaded to the post."""

    def pattern(self, number: int) -> str | None:
        """Return the content of a synced pattern, or None if the export doesn't contain it."""


@dataclass(frozen=True, slots=True)
class Body:
    """The converted body of a post.

    Attributes:
        missing: The URLs of pictures and players that became links.
        lost: Descriptions of the shortcodes, blocks, elements and footnotes that are missing from the converted body.
    """

    html: str
    missing: tuple[str, ...]
    lost: tuple[str, ...]


def convert(source: str, base: str, library: Library, footnotes: str = "") -> Body:
    """Convert the body of a post.

    Args:
        source: The body, as WordPress stores it.
        base: The absolute URL of the post.
        library: The other posts, pages and files of the export.
        footnotes: The footnotes that WordPress stored with the post, as JSON.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    missing: dict[str, None] = {}
    lost: dict[str, None] = {}
    source = blocks.expand_patterns(source, library.pattern, lost)
    return Body(_html(source, base, library, footnotes, missing, lost), tuple(missing), tuple(lost))


def plain(html: str) -> str:
    """Convert the HTML of a title or an excerpt to a single line of text, without tags or character references.

    A "<" that does not start a tag is kept.
    """
    without_tags = TAG.sub(lambda tag: " " if tag[2].lower() in BLOCKS | {"br"} else "", html)
    text = " ".join(unescape(without_tags).split())
    return "" if is_blank(text) else text


def make_slug(text: str) -> str:
    """Convert `text` to a slug: lowercase letters and digits of any script, joined with hyphens.

    URL escapes such as %ce%b5 are decoded. The result is "" if the text contains no letters or digits.
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

    Add content that becomes a link to `missing`, and content that is lost to `lost`.
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
        # Use the old URLs here. The rewriter will replace them, like the URLs of all other pictures in the post.
        rows = "".join(f'<li><img src="{escape(file.url)}" alt="{escape(file.title)}"></li>\n' for file in files)
        return f"<ul>\n{rows}</ul>" if rows else ""

    # Posts with blocks already contain paragraphs, so don't add any. WordPress doesn't do so either.
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

    If a block marker contains the id of a picture, the id is added to the picture as an attribute. Blocks without
    content are added to `lost`.
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

    If the picture is missing, return a link to its old URL instead. If `linked` is true, the picture is already inside
    a link, so return only the text for this link.
    """
    text = alt or file.title or label_of(file.url)
    if file.src:
        return f'<img src="{escape(file.src)}" alt="{escape(alt or file.title)}">'
    missing.setdefault(file.url)
    return escape(text, quote=False) if linked else link(file.url, text)


class _Rewriter:
    """A rewriter that replaces the links, pictures and players in the body of a post."""

    def __init__(self, base: str, library: Library, missing: dict[str, None], lost: dict[str, None]) -> None:
        self.base = base
        self.library = library
        self.missing = missing
        self.lost = lost
        self.in_link = False

    def rewrite(self, html: str) -> str:
        """Return `html`, with URLs in links and pictures replaced with new URLs, and with links instead of players."""
        rewriters: dict[str, Callable[[Token], str]] = {"a": self.anchor, "img": self.image}
        parts: list[str] = []
        for token in tokens(html):
            if token.name in LOST and token.kind != "close":
                self.lost.setdefault(f"<{token.name}>")
            if token.name in NEVER_SHOWN:
                parts.append(self.gist(token))
                continue
            if token.kind == "text" and token.source.isspace():
                # Reduce the blank lines that block markers on lines of their own have left behind.
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
        """Return a URL in the post as an absolute URL, or "" if it is not an http or https URL."""
        if not address:
            return ""
        try:
            url = urljoin(self.base, address.strip())
            return url if urlsplit(url).scheme in ("http", "https") else ""
        except ValueError:
            return ""

    def anchor(self, token: Token) -> str:
        """Return the start tag of a link.

        If the link leads to a page of the old site that readers can see on this site, the tag contains the new URL.
        Otherwise, it contains the original URL.
        """
        self.in_link = True
        values = attributes(token.rest)
        if name := values.pop("name", ""):
            # In old HTML, `name` instead of `id` identifies a position in a page.
            values.setdefault("id", name)
        address = values.get("href", "")
        # Don't change other links, such as mailto: links. The sanitizer decides which of them are allowed.
        if address and not address.startswith("#") and (url := self.absolute(address)):
            values["href"] = self.library.page(url) or url
        elif not name:
            return token.source
        return "<a" + "".join(f' {name}="{escape(value)}"' for name, value in values.items()) + ">"

    def image(self, token: Token) -> str:
        """Return the HTML of a picture, with its new URL.

        If the picture is missing, return a link to its old URL, because this site doesn't show pictures from other
        sites.
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
        """Return the HTML that shows an element's background picture, or "" if the element has none."""
        values = attributes(token.rest)
        match = BACKGROUND.search(values.get("style", ""))
        url = self.absolute(match[1]) if match else ""
        if not url:
            return ""
        file = self.library.file(url, self.number(values))
        return _picture(file, self.missing, values.get("aria-label", "").strip(), linked=self.in_link)

    @staticmethod
    def number(values: dict[str, str]) -> int:
        """Return the old site's id of the picture in an element, or 0 if the attributes don't contain an id."""
        match = PICTURE_CLASS.search(values.get("class", "")) or NUMBER.match(values.get("data-id", ""))
        return int(match[1]) if match else 0

    def player(self, token: Token) -> str:
        """Return the link that replaces a player or an embedded page."""
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
        """Return the URLs in the attributes of a player and of the elements inside it."""
        inner = token.source[len(token.name) + 1 :] if token.name in ("audio", "video", "object") else ""
        elements = [attributes(token.rest)]
        elements += [attributes(piece.rest) for piece in tokens(inner) if piece.name in ("source", "embed", "param")]
        values = (
            element.get("src") or element.get("data") or (element.get("name") in MOVIE and element.get("value"))
            for element in elements
        )
        return [self.absolute(value) for value in values if value]

    def gist(self, token: Token) -> str:
        """Return a link to the gist that a script shows, or "" for all other scripts."""
        match = GIST.match(self.absolute(attributes(token.rest).get("src", ""))) if token.name == "script" else None
        if match and not self.in_link:
            return link(match[1], match[1])
        if token.name == "script" and token.kind != "close":
            self.lost.setdefault("<script>")
        return ""


def _lone_link(match: re.Match[str]) -> str:
    url = unescape(match[1])
    return match[0].replace(match[1], link(url, url))
