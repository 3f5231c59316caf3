"""Write RSS 2.0, Atom and JSON Feed from the same items. The output depends only on the channel and the items."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Any

from django.utils import feedgenerator
from django.utils.feedgenerator import Atom1Feed, Rss201rev2Feed, SyndicationFeed, rfc3339_date

# Characters that XML 1.0 can't contain, even if they are escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_JPEG = "image/jpeg"


@dataclass(frozen=True)
class Channel:
    """A feed without its items. All URLs are absolute.

    Attributes:
        updated: The time of the feed's last change.
    """

    title: str
    description: str
    link: str
    feed_url: str
    language: str
    updated: datetime


@dataclass(frozen=True)
class Enclosure:
    """A file that belongs to an item. `length` is its size in bytes."""

    url: str
    content_type: str
    length: int


@dataclass(frozen=True)
class Picture:
    """A JPEG copy of a photo for an item of a feed, with its width and height in pixels.

    The size in bytes is unknown until the copy has been generated.
    """

    url: str
    width: int
    height: int


@dataclass(frozen=True)
class Item:
    """A post in a feed. `id` never changes, `html` is the whole text, and `summary` is plain text."""

    id: str
    title: str
    link: str
    summary: str
    html: str
    published: datetime
    updated: datetime
    author: str
    tags: tuple[str, ...]
    language: str = ""
    # The URL of the author's page, or "" if there is none.
    author_url: str = ""
    enclosure: Enclosure | None = None
    picture: Picture | None = None

    @property
    def enclosures(self) -> list[Enclosure]:
        return [self.enclosure] if self.enclosure else []


class _Rss(Rss201rev2Feed):
    """RSS with the whole text in content:encoded. Authors are in dc:creator because <author> needs an email address."""

    def rss_attributes(self) -> dict[str, str]:
        return super().rss_attributes() | {
            "xmlns:content": "http://purl.org/rss/1.0/modules/content/",
            "xmlns:media": "http://search.yahoo.com/mrss/",
        }

    def add_item_elements(self, handler: Any, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, item)
        handler.addQuickElement("content:encoded", item["html"])
        if picture := item["picture"]:
            # Use <media:content>, because <enclosure> requires the file's size, which may be unknown.
            size = {"width": str(picture.width), "height": str(picture.height)}
            handler.addQuickElement(
                "media:content", None, {"url": picture.url, "type": _JPEG, "medium": "image", **size}
            )

    def latest_post_date(self) -> datetime:
        return self.feed["updated"]


class _Atom(Atom1Feed):
    """Atom with the whole text in <content>, and the summary as plain text."""

    def item_attributes(self, item: dict[str, Any]) -> dict[str, str]:
        return {"xml:lang": item["language"]} if item["language"] else {}

    def add_item_elements(self, handler: Any, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, {**item, "description": None})
        if item["description"]:
            handler.addQuickElement("summary", item["description"])
        handler.addQuickElement("content", item["html"], {"type": "html"})
        if picture := item["picture"]:
            handler.addQuickElement("link", None, {"rel": "enclosure", "type": _JPEG, "href": picture.url})

    def latest_post_date(self) -> datetime:
        return self.feed["updated"]


def _xml(feed_class: type[SyndicationFeed], channel: Channel, items: Sequence[Item]) -> bytes:
    feed = feed_class(
        title=_text(channel.title),
        link=channel.link,
        description=_text(channel.description),
        subtitle=_text(channel.description),
        feed_url=channel.feed_url,
        language=channel.language,
        author_name=_text(channel.title) if feed_class is _Atom else None,
        updated=channel.updated,
    )
    for item in items:
        feed.add_item(
            title=_text(item.title),
            link=item.link,
            description=_text(item.summary or item.title),
            html=_text(item.html),
            picture=item.picture,
            language=item.language,
            unique_id=item.id,
            unique_id_is_permalink=False,
            author_name=_text(item.author) or None,
            author_link=item.author_url or None,
            pubdate=item.published,
            updateddate=item.updated,
            categories=[_text(tag) for tag in item.tags],
            enclosures=[feedgenerator.Enclosure(e.url, str(e.length), e.content_type) for e in item.enclosures],
        )
    buffer = BytesIO()
    feed.write(buffer, "utf-8")
    return buffer.getvalue()


def _text(text: str) -> str:
    return _NOT_XML.sub("", str(text))


def rss(channel: Channel, items: Sequence[Item]) -> bytes:
    """Return the feed as RSS 2.0."""
    return _xml(_Rss, channel, items)


def atom(channel: Channel, items: Sequence[Item]) -> bytes:
    """Return the feed as Atom (RFC 4287)."""
    return _xml(_Atom, channel, items)


def json_feed(channel: Channel, items: Sequence[Item]) -> bytes:
    """Return the feed as JSON Feed 1.1 (https://www.jsonfeed.org/version/1.1/)."""
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": channel.title,
        "home_page_url": channel.link,
        "feed_url": channel.feed_url,
        "description": channel.description,
        "language": channel.language,
        "items": [_json_item(item) for item in items],
    }
    return json.dumps(feed, ensure_ascii=False).encode()


def _json_item(item: Item) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": item.id,
        "url": item.link,
        "title": item.title,
        "content_html": item.html,
        "date_published": rfc3339_date(item.published),
        "date_modified": rfc3339_date(item.updated),
        "tags": list(item.tags),
    }
    if item.enclosure:
        file = item.enclosure
        entry["attachments"] = [{"url": file.url, "mime_type": file.content_type}]
        if file.length:
            entry["attachments"][0]["size_in_bytes"] = file.length
        entry["image"] = file.url
    if item.picture:
        entry["image"] = item.picture.url
    if item.language:
        entry["language"] = item.language
    if item.summary:
        entry["summary"] = item.summary
    if item.author:
        entry["authors"] = [{"name": item.author} | ({"url": item.author_url} if item.author_url else {})]
    return entry


FORMATS = {
    "rss": (rss, "application/rss+xml; charset=utf-8"),
    "atom": (atom, "application/atom+xml; charset=utf-8"),
    "json": (json_feed, "application/feed+json; charset=utf-8"),
}
