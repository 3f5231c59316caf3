"""Resolves WordPress's shortcodes: what HTML can say becomes HTML, the rest goes, and brackets that are mere text stay.

Which shortcodes a site knew, its plugins decided, and the export does not say. So beyond WordPress's own names one is
taken for a shortcode when it has an end tag, when all that it holds are name=value pairs, when it closes itself, or
when a lower-case word in brackets is a paragraph of its own.
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
# Made by WordPress or a common plugin from what is not in the post; nothing of it can be kept.
SILENT = words(
    "archives contact contact-field contact-form contact-form-7 display-posts googlemaps jetpack_subscription_form "
    "polldaddy poll recent_posts sitemap slideshow toc wp_sitemap_page"
)
CAPTIONS = words("caption wp_caption")
KNOWN = MEDIA | SILENT | CAPTIONS | {"gallery"}
# Where what a shortcode names by its number is to be seen; "{}" stands for the number.
BY_NUMBER = {
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
# Possessive throughout: what has two readings would be tried in every combination.
PAIR = r"""\s++[\w-]++\s*+=\s*+(?>"[^"]*"|'[^']*'|[“”″][^“”″]*[“”″]|&quot;.*?&quot;|[^\s"']+)"""
ONLY_PAIRS = re.compile(rf"(?:{PAIR})++\s*+/?\s*+\Z", re.DOTALL)
# "id=12&doc=a-b" is WordPress.com's own way; a gist's may have its author in front.
NUMBER = re.compile(r"[\w-]+(?:/\w+)?(?=[&\s\"']|\Z)", re.ASCII)
WORD = re.compile(r"[a-z][a-z0-9_-]*\Z")


@dataclass(frozen=True, slots=True)
class Expanded:
    """The text without shortcodes, and the names of those that left nothing behind, in order."""

    text: str
    dropped: tuple[str, ...]


def expand(source: str, gallery: Callable[[dict[str, str]], str]) -> Expanded:
    """Resolve the shortcodes in `source`; none inside code, comments and tags. `gallery` gives the HTML for the
    attributes of a gallery, "" when none of its pictures is known."""
    expander = _Expander(list(tokens(source)), gallery)
    text = expander.between(0, len(expander.tokens))
    return Expanded(text, tuple(expander.dropped))


def label_of(url: str) -> str:
    """What to call an address: the name of a file, else the address itself."""
    name = unquote(urlsplit(url).path.rsplit("/", 1)[-1])
    return name if re.search(r"\.\w{2,5}\Z", name) else url


class _Expander:
    """One text's shortcodes, by their places among its tokens."""

    def __init__(self, found: list[Token], gallery: Callable[[dict[str, str]], str]) -> None:
        self.tokens = found
        self.gallery = gallery
        self.dropped: list[str] = []
        # One in another is no figure of its own: authors do not nest them, and a thousand would be deep.
        self.in_caption = False
        # Where the end tag of a begun shortcode is, and the reverse.
        self.partner = _partners(found)

    def between(self, start: int, end: int) -> str:
        """The text of the tokens from `start` up to `end`."""
        parts: list[str] = []
        at = start
        while at < end:
            token = self.tokens[at]
            if token.kind != "shortcode":
                parts.append(token.source)
                at += 1
                continue
            text, at = self.shortcode(token, at, end)
            parts.append(text)
        return "".join(parts)

    def shortcode(self, token: Token, at: int, end: int) -> tuple[str, int]:
        """What becomes of the shortcode at `at`, and where to go on."""
        name = token.name.lower()
        partner = self.partner.get(at, -1)
        closed = at < partner < end
        if token.escaped:
            return self.escaped(token, at, end)
        if token.closing:
            return ("" if name in KNOWN or partner >= 0 else token.source), at + 1
        if name in CODE and closed:
            raw = "".join(inner.source for inner in self.tokens[at + 1 : partner]).strip("\n")
            return f"\n\n<pre><code>{raw.replace('<', '&lt;')}</code></pre>\n\n", partner + 1
        if name in CAPTIONS and closed and not self.in_caption:
            self.in_caption = True
            inner = self.between(at + 1, partner)
            self.in_caption = False
            return self.caption(token, inner), partner + 1
        if name == "gallery":
            found = self.gallery(attributes(token.rest))
            return (f"\n\n{found}\n\n" if found else self.drop(name)), at + 1
        if name in MEDIA:
            inner = "".join(inner.source for inner in self.tokens[at + 1 : partner]) if closed else ""
            return self.media(name, token.rest, inner) or self.drop(name), (partner if closed else at) + 1
        if name in KNOWN or partner >= 0 or ONLY_PAIRS.match(token.rest) or token.rest.strip() == "/":
            return self.drop(name), at + 1
        if not token.rest and WORD.match(token.name) and self.is_alone(at):
            return self.drop(name), at + 1
        return token.source, at + 1

    def escaped(self, token: Token, at: int, end: int) -> tuple[str, int]:
        """One with a doubled bracket is shown with a single one, but only when both ends, its own or those of the begun
        and the ended one, are doubled. Else the bracket too many is text."""
        front = token.source.startswith("[[")
        back = token.source.endswith("]]")
        partner = self.partner.get(at, -1)
        single = replace(token, source=token.source[front : len(token.source) - back], escaped=False)
        if front and back:
            known = token.name.lower() in KNOWN or partner >= 0 or ONLY_PAIRS.match(token.rest)
            return (single.source if known else token.source), at + 1
        if partner >= 0 and self.tokens[partner].escaped:
            return single.source, at + 1
        text, after = self.shortcode(single, at, end)
        return "[" * front + text + "]" * back, after

    def drop(self, name: str) -> str:
        """Note that a shortcode left nothing."""
        self.dropped.append(name)
        return ""

    def caption(self, token: Token, inner: str) -> str:
        """A figure: the picture with the link around it, then the caption."""
        pieces = list(tokens(inner))
        seen = False
        linked = False
        cut = len(pieces)
        for number, piece in enumerate(pieces):
            linked = piece.kind == "open" if piece.name == "a" else linked
            seen = seen or piece.name == "img" or piece.kind == "whole"
            if seen and not linked:
                cut = number + 1
                break
        picture = "".join(piece.source for piece in pieces[:cut]).replace("\n", " ").strip()
        text = "".join(piece.source for piece in pieces[cut:]).strip()
        text = text or attributes(token.rest, decode=False).get("caption", "").strip()
        text = re.sub(r"\A(?:<br\s*/?>\s*)+", "", text)
        return f"\n\n<figure>{picture}{f'<figcaption>{text}</figcaption>' if text else ''}</figure>\n\n"

    def media(self, name: str, rest: str, inner: str) -> str:
        """A link to what was to be played; "" when the shortcode names nothing."""
        values = attributes(rest)
        found = URL.search(unescape(rest)) or URL.search(unescape(inner))
        url = found[0] if found else next((values[key] for key in SOURCES if values.get(key)), "")
        if not url and name in BY_NUMBER:
            number = NUMBER.match(values.get("id") or rest.strip(" =\"'") or inner.strip())
            url = BY_NUMBER[name].format(number[0]) if number else ""
        return link(url, label_of(url)) if url else ""

    def is_alone(self, at: int) -> bool:
        """True when the shortcode at `at` is all that its paragraph or element holds."""
        return all(self.is_edge(at, step) for step in (-1, 1))

    def is_edge(self, at: int, step: int) -> bool:
        at += step
        while 0 <= at < len(self.tokens):
            token = self.tokens[at]
            if token.kind != "text":
                return token.kind == "comment" or is_block(token)
            text = token.source
            near = text[len(text.rstrip()) :] if step < 0 else text[: len(text) - len(text.lstrip())]
            if near.count("\n") > 1 or near != text:
                return near.count("\n") > 1
            at += step
        return True


def _partners(found: list[Token]) -> dict[int, int]:
    """Which shortcodes belong together, by their places: an end tag ends the last of its name that was begun."""
    partner: dict[int, int] = {}
    begun: dict[str, list[int]] = {}
    for at, token in enumerate(found):
        if token.kind != "shortcode":
            continue
        if not token.closing:
            begun.setdefault(token.name, []).append(at)
        elif begun.get(token.name):
            start = begun[token.name].pop()
            partner[start] = at
            partner[at] = start
    return partner
