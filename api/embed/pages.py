"""Pages on other sites that embed a discussion. A page is stored when its first comment is sent, never by a GET request.

A page is identified by its address: its URL, or its URL with an id as the fragment. With an id, the page keeps its
discussion when its path changes.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from urllib.parse import urldefrag, urlsplit

from django.conf import settings

from api.collections import EMBEDDED_PAGES
from api.models import EmbeddedPage
from marginalia.comments.posting.preparation import one_line
from marginalia.comments.types import Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database, insert_new

LABEL = EmbeddedPage._meta.label_lower
MAX_ADDRESS, MAX_TITLE = 1_000, 200
# Browsers encode all other characters in URLs.
_ADDRESS = re.compile(r"[!-~]+")


class InvalidAddress(ValueError):
    """The address isn't a URL of a site in EMBED["ORIGINS"]."""


@dataclass(frozen=True)
class PageAddress:
    """The address of a page that embeds a discussion."""

    text: str

    @classmethod
    def parse(cls, text: str) -> "PageAddress":
        """Return the address in `text`, which can come from any client.

        Raises:
            InvalidAddress: `text` isn't a URL, or the page's site isn't registered.
        """
        if len(text) > MAX_ADDRESS or not _ADDRESS.fullmatch(text) or not is_registered(origin_of(text)):
            raise InvalidAddress("This page's site can't embed comments. Add its origin to EMBED_ORIGINS.")
        return cls(text)

    @property
    def pk(self) -> str:
        """Return the primary key of the page."""
        url, id = urldefrag(self.text)
        identity = f"{origin_of(url)}#{id}" if id else url
        return blake2b(identity.encode(), digest_size=16).hexdigest()

    @property
    def target(self) -> Target:
        """Return the target of the page's discussion."""
        return Target(LABEL, self.pk)


def origin_of(url: str) -> str:
    """Return the scheme and host of a URL exactly as they are written, or "" if the URL is invalid."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"


def is_registered(origin: str) -> bool:
    """Return whether pages of this origin can embed discussions."""
    return origin in settings.EMBED["ORIGINS"]


def visible(keys: list[str]) -> Iterable[EmbeddedPage]:
    """Return the stored pages with these keys. If an origin is no longer registered, its pages are hidden."""
    pages = EmbeddedPage.objects.filter(pk__in=keys)
    return [page for page in pages if is_registered(origin_of(page.address))]


def stored() -> Iterator[dict[str, str]]:
    """Yield the address and the title of each stored page."""
    for page in EmbeddedPage.objects.order_by("pk").iterator():
        yield {"page": page.address, "title": page.title}


def find(address: PageAddress) -> EmbeddedPage | None:
    """Return the stored page with this address, or None if it has no comments yet."""
    return next(iter(visible([address.pk])), None)


def unsaved(address: PageAddress, title: str = "") -> EmbeddedPage:
    """Return a page that isn't stored yet."""
    return EmbeddedPage(pk=address.pk, address=address.text, title=one_line(title)[:MAX_TITLE], created=now())


def get(address: PageAddress) -> EmbeddedPage:
    """Return the page with this address, or an unsaved page if it has no comments yet."""
    return find(address) or unsaved(address)


def at_urls(urls: Iterable[str], *, store: bool) -> dict[str, EmbeddedPage]:
    """Return the pages at `urls`, without those whose site isn't registered. If `store` is true, store the pages."""
    found: dict[str, EmbeddedPage] = {}
    for url in urls:
        with suppress(InvalidAddress):
            found[url] = unsaved(PageAddress.parse(url))
    if store and found:
        insert_new(database()[EMBEDDED_PAGES], [_document(page) for page in found.values()])
    return found


def get_or_create(address: PageAddress, title: str) -> EmbeddedPage:
    """Return the page with this address. If it isn't stored yet, or has no title, store it with `title`."""
    new = unsaved(address, title)
    stored = database()[EMBEDDED_PAGES]
    stored.update_one({"_id": new.pk}, {"$setOnInsert": _document(new)}, upsert=True)
    page = get(address)
    if new.title and not page.title:
        # Imported pages have no title.
        stored.update_one({"_id": new.pk, "title": ""}, {"$set": {"title": new.title}})
        page.title = new.title
    return page


def _document(page: EmbeddedPage) -> dict[str, Any]:
    return {"_id": page.pk, "address": page.address, "title": page.title, "created": page.created}
