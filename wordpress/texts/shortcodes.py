"""Expansion of WordPress's shortcodes. They become HTML if possible, and are removed otherwise.

Text in brackets that is not a shortcode is kept.

Plugins can define shortcodes, and the export does not list their names. Therefore, in addition to the names that this
module lists, the following are treated as shortcodes:

- brackets with an end tag
- brackets that contain only name=value pairs
- brackets with a closing slash
- a lowercase word in brackets that is the only content of its paragraph
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import unescape
from urllib.parse import unquote, urlsplit

from wordpress.texts.tokens import Token, attributes, is_block, link, tokens, words

__all__ = ["Expanded", "expand", "label_of"]

MEDIA = words(
    "audio dailymotion embed facebook flickr gist googlevideo instagram playlist slideshare soundcloud spotify ted "
    "tweet twitter video vimeo vine wpvideo youtube"
)
CODE = words("bash c code cpp csharp css html java javascript js php python ruby source sourcecode sql xml")
# Shortcodes from WordPress and common plugins that are removed. Their content is not part of the post, so it can't be
# imported.
DROPPED = words(
    "archives contact contact-field contact-form contact-form-7 display-posts googlemaps jetpack_subscription_form "
    "polldaddy poll recent_posts sitemap slideshow toc wp_sitemap_page"
)
CAPTIONS = words("caption wp_caption")
KNOWN = MEDIA | DROPPED | CAPTIONS | {"gallery"}
# For shortcodes that can identify content by a number or name instead of a URL, the URL of this content. The number or
# name replaces "{}".
URLS_BY_NUMBER = {
    "dailymotion": "https://www.dailymotion.com/video/{}",
    "gist": "https://gist.github.com/{}",
    "instagram": "https://www.instagram.com/p/{}/",
    "slideshare": "https://www.slideshare.net/slideshow/embed_code/{}",
    "ted": "https://www.ted.com/talks/view/id/{}",
    "tweet": "https://twitter.com/i/web/status/{}",
    "vimeo": "https://vimeo.com/{}",
    "vine": "https://vine.co/v/{}",
    "wpvideo": "https://videopress.com/v/{}",
    "youtube": "https://www.youtube.com/watch?v={}",
}
SOURCES = ("src", "url", "mp3", "m4a", "ogg", "wav", "mp4", "m4v", "webm", "ogv", "wmv", "flv")

URL = re.compile(r"""https?://[^\s"'<>\[\]“”″]+""")
# The outer quantifiers are possessive. Otherwise, all possible ways of matching ambiguous input would be tried, which
# would take too long.
PAIR = r"""\s++[\w-]++\s*+=\s*+(?>"[^"]*"|'[^']*'|[“”″][^“”″]*[“”″]|&quot;.*?&quot;|[^\s"']+)"""
ONLY_PAIRS = re.compile(rf"(?:{PAIR})++\s*+/?\s*+\Z", re.DOTALL)
# Matches the number or name that identifies content. WordPress.com writes "id=12&doc=a-b". In a gist shortcode, the
# author's name can precede the number.
NUMBER = re.compile(r"[\w-]+(?:/\w+)?(?=[&\s\"']|\Z)", re.ASCII)
WORD = re.compile(r"[a-z][a-z0-9_-]*\Z")


@dataclass(frozen=True, slots=True)
class Expanded:
    """The text with its shortcodes expanded, and the names of lost shortcodes in their original order."""

    text: str
    dropped: tuple[str, ...]


def expand(source: str, gallery: Callable[[dict[str, str]], str]) -> Expanded:
    """Expand the shortcodes in `source`, except inside code, comments and tags.

    `gallery` is a function that accepts the attributes of a gallery shortcode, and returns the HTML of the gallery, or
    "" if its pictures are unknown.
    """
    expander = _Expander(list(tokens(source)), gallery)
    text = expander.between(0, len(expander.tokens))
    return Expanded(text, tuple(expander.dropped))


def label_of(url: str) -> str:
    """Return the text of a link to a URL: the file name in the URL if there is one, or the URL itself."""
    name = unquote(urlsplit(url).path.rsplit("/", 1)[-1])
    return name if re.search(r"\.\w{2,5}\Z", name) else url


class _Expander:
    """An expander for the shortcodes in a post. A position is the index of a token of the post."""

    def __init__(self, tokens: list[Token], gallery: Callable[[dict[str, str]], str]) -> None:
        self.tokens = tokens
        self.gallery = gallery
        self.dropped: list[str] = []
        # Whether a caption is being expanded. Captions inside it don't become figures: authors never nest captions, and
        # a thousand nested captions would exceed the recursion limit.
        self.in_caption = False
        # The position of the end tag of each opening shortcode, and the position of the opening shortcode of each end
        # tag.
        self.partner = _partners(tokens)

    def between(self, start: int, end: int) -> str:
        """Return the expanded text of the tokens from `start` to `end` (exclusive)."""
        parts: list[str] = []
        position = start
        while position < end:
            token = self.tokens[position]
            if token.kind != "shortcode":
                parts.append(token.source)
                position += 1
                continue
            text, position = self.shortcode(token, position, end)
            parts.append(text)
        return "".join(parts)

    def shortcode(self, token: Token, position: int, end: int) -> tuple[str, int]:
        """Return what replaces the shortcode at `position`, and the position after it."""
        name = token.name.lower()
        partner = self.partner.get(position, -1)
        closed = position < partner < end
        if token.escaped:
            return self.escaped(token, position, end)
        if token.closing:
            return ("" if name in KNOWN or partner >= 0 else token.source), position + 1
        if name in CODE and closed:
            raw = "".join(inner.source for inner in self.tokens[position + 1 : partner]).strip("\n")
            return f"\n\n<pre><code>{raw.replace('<', '&lt;')}</code></pre>\n\n", partner + 1
        if name in CAPTIONS and closed and not self.in_caption:
            self.in_caption = True
            inner = self.between(position + 1, partner)
            self.in_caption = False
            return self.caption(token, inner), partner + 1
        if name == "gallery":
            gallery_html = self.gallery(attributes(token.rest))
            return (f"\n\n{gallery_html}\n\n" if gallery_html else self.drop(name)), position + 1
        if name in MEDIA:
            inner = "".join(inner.source for inner in self.tokens[position + 1 : partner]) if closed else ""
            return self.media(name, token.rest, inner) or self.drop(name), (partner if closed else position) + 1
        if name in KNOWN or partner >= 0 or ONLY_PAIRS.match(token.rest) or token.rest.strip() == "/":
            return self.drop(name), position + 1
        if not token.rest and WORD.match(token.name) and self.is_alone(position):
            return self.drop(name), position + 1
        return token.source, position + 1

    def escaped(self, token: Token, position: int, end: int) -> tuple[str, int]:
        """Return what replaces a shortcode with doubled brackets, and the position after it.

        Doubled brackets at both ends, as in [[name]] or [[name]…[/name]], mean that the shortcode is shown as text,
        with single brackets. If only one bracket is doubled, the additional bracket is text, and the shortcode is
        expanded.
        """
        is_front_doubled = token.source.startswith("[[")
        is_back_doubled = token.source.endswith("]]")
        partner = self.partner.get(position, -1)
        single = replace(
            token, source=token.source[is_front_doubled : len(token.source) - is_back_doubled], escaped=False
        )
        if is_front_doubled and is_back_doubled:
            known = token.name.lower() in KNOWN or partner >= 0 or ONLY_PAIRS.match(token.rest)
            return (single.source if known else token.source), position + 1
        if partner >= 0 and self.tokens[partner].escaped:
            return single.source, position + 1
        text, after = self.shortcode(single, position, end)
        return "[" * is_front_doubled + text + "]" * is_back_doubled, after

    def drop(self, name: str) -> str:
        """Record that a shortcode is lost. Return "", which replaces it."""
        self.dropped.append(name)
        return ""

    def caption(self, token: Token, inner: str) -> str:
        """Return a figure that contains the picture, with its link if it has one, and the caption."""
        pieces = list(tokens(inner))
        has_picture = False
        in_link = False
        cut = len(pieces)
        for number, piece in enumerate(pieces):
            in_link = piece.kind == "open" if piece.name == "a" else in_link
            has_picture = has_picture or piece.name == "img" or piece.kind == "whole"
            if has_picture and not in_link:
                cut = number + 1
                break
        picture = "".join(piece.source for piece in pieces[:cut]).replace("\n", " ").strip()
        text = "".join(piece.source for piece in pieces[cut:]).strip()
        text = text or attributes(token.rest, decode=False).get("caption", "").strip()
        text = re.sub(r"\A(?:<br\s*/?>\s*)+", "", text)
        return f"\n\n<figure>{picture}{f'<figcaption>{text}</figcaption>' if text else ''}</figure>\n\n"

    def media(self, name: str, rest: str, inner: str) -> str:
        """Return a link to the content that a media shortcode shows, or "" if its URL is unknown."""
        values = attributes(rest)
        match = URL.search(unescape(rest)) or URL.search(unescape(inner))
        url = match[0] if match else next((values[key] for key in SOURCES if values.get(key)), "")
        if not url and name in URLS_BY_NUMBER:
            number = NUMBER.match(values.get("id") or rest.strip(" =\"'") or inner.strip())
            url = URLS_BY_NUMBER[name].format(number[0]) if number else ""
        return link(url, label_of(url)) if url else ""

    def is_alone(self, position: int) -> bool:
        """Return whether a paragraph or an element contains only the shortcode at `position`."""
        return all(self.is_edge(position, step) for step in (-1, 1))

    def is_edge(self, position: int, step: int) -> bool:
        position += step
        while 0 <= position < len(self.tokens):
            token = self.tokens[position]
            if token.kind != "text":
                return token.kind == "comment" or is_block(token)
            text = token.source
            whitespace = text[len(text.rstrip()) :] if step < 0 else text[: len(text) - len(text.lstrip())]
            if whitespace.count("\n") > 1 or whitespace != text:
                return whitespace.count("\n") > 1
            position += step
        return True


def _partners(tokens: list[Token]) -> dict[int, int]:
    """Return the index of the end tag for each opening shortcode, and the other way round.

    An end tag belongs to the last opening shortcode with the same name that has no end tag yet.
    """
    partners: dict[int, int] = {}
    open_shortcodes: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        if token.kind != "shortcode":
            continue
        if not token.closing:
            open_shortcodes.setdefault(token.name, []).append(index)
        elif open_shortcodes.get(token.name):
            start = open_shortcodes[token.name].pop()
            partners[start] = index
            partners[index] = start
    return partners
