"""Feeds of the site, a blog or a tag: the newest posts, whole, for feed readers.

Ids are made of the nodes' own and never change; addresses are absolute, inside the texts too. The entity tag is the digest
of what is sent, so that a reader that has it already gets a 304. For those that know dates alone, a feed was last changed when
the site was: what was taken away leaves no date in a feed.
"""

import hashlib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.html import format_html
from django.utils.http import http_date
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.markup.html.absolute import absolute
from marginalia.mongo.clock import now
from nodes import links, rendering
from nodes.content import NEWEST, PHOTOS
from nodes.models import Node, Photo, stored_site, tree
from nodes.selectors import due, stored_nodes
from photos import addresses, pictures, texts
from reader.selectors import authors
from reader.views.feed_formats import FORMS, Channel, Enclosure, Item, Picture
from reader.views.pages import moved_with, section_at

ENTRIES = 20


@dataclass(frozen=True)
class Source:
    """What a feed is about: its title, its description, the path of its page, and what it lists."""

    title: str
    description: str
    path: str
    nodes: tuple[Node | Photo, ...]
    changed: datetime | None = None


def _of_site() -> Source:
    settings = stored_site.current().settings
    listing = stored_nodes.newest_entries(tree.current(), now(), size=ENTRIES, whole=True)
    return Source(settings.name, settings.tagline or settings.name, "/", listing.nodes)


def _of_section(section: Node) -> Source:
    select = stored_nodes.photos_of if section.content_type.lists == PHOTOS else stored_nodes.entries
    listing = select(section.pk, now(), size=ENTRIES, whole=True)
    metadata = section.metadata
    title = f"{metadata.title} · {stored_site.current().settings.name}"
    return Source(title, section.blurb or metadata.title, section.get_absolute_url(), listing.nodes, metadata.updated)


def _of_tag(tag: str) -> Source:
    tag = unicodedata.normalize("NFC", tag)
    listing = stored_nodes.tagged(tree.current(), tag, now(), size=ENTRIES, whole=True)
    if not listing.nodes:
        raise Http404(_("Nothing is tagged “%(tag)s”.") % {"tag": tag})
    title = f"{tag} · {stored_site.current().settings.name}"
    description = _("Tagged “%(tag)s”") % {"tag": tag}
    return Source(title, description, reverse("tag", args=[tag]), listing.nodes)


def _of_author(slug: str) -> Source:
    sections = tree.current()
    moment = now()
    page = authors.pages(sections, moment).get(slug)
    names = authors.names(authors.slugs_of(page) if page else [slug], moment)
    listing = authors.posts(sections, names, moment, size=ENTRIES, whole=True)
    if not listing.nodes:
        raise Http404(_("Nothing was published under this name."))
    name = page.metadata.title if page else min(node.metadata.author.name for node in listing.nodes)
    title = f"{name} · {stored_site.current().settings.name}"
    description = (page.blurb if page else "") or _("Written by %(name)s") % {"name": name}
    return Source(title, description, page.get_absolute_url() if page else links.author(name), listing.nodes)


@require_safe
def site(request: HttpRequest, form: str) -> HttpResponse:
    """Answer the feed of all blogs."""
    return _answer(request, form, _of_site)


@require_safe
def blog(request: HttpRequest, path: str, form: str) -> HttpResponse:
    """Answer the feed of a blog or a gallery, or redirect to where that has moved."""
    found = section_at(path, NEWEST, PHOTOS)
    return moved_with(request, found, path) or _answer(request, form, lambda: _of_section(found))


@require_safe
def tag(request: HttpRequest, tag: str, form: str) -> HttpResponse:
    """Answer the feed of what carries a tag."""
    return _answer(request, form, lambda: _of_tag(tag))


@require_safe
def author(request: HttpRequest, slug: str, form: str) -> HttpResponse:
    """Answer the feed of what is signed with a name."""
    return _answer(request, form, lambda: _of_author(slug))


def _answer(request: HttpRequest, form: str, read: Callable[[], Source]) -> HttpResponse:
    if form not in FORMS:
        raise Http404(_("There is no feed at this address."))
    write, content_type = FORMS[form]
    source = read()
    pictures.read(source.nodes)
    items = [_item(node, request) for node in source.nodes]
    times = [time for item in items for time in (item.updated, item.published)]
    changed = max([*times, *([source.changed] if source.changed else [])], default=None)
    body = write(_channel(source, changed, request), items)
    digest = hashlib.sha256(body).hexdigest()[:32]
    last = due.last_change(now())
    modified = int(last.timestamp()) if last else None
    response = HttpResponse(body, content_type=content_type)
    response["ETag"] = f'W/"{digest}"'
    if modified:
        response["Last-Modified"] = http_date(modified)
    return get_conditional_response(request, response["ETag"], modified, response) or response


def _channel(source: Source, changed: datetime | None, request: HttpRequest) -> Channel:
    origin = links.origin(request)
    return Channel(
        title=source.title,
        description=source.description,
        link=origin + source.path,
        feed_url=links.canonical(request),
        language=stored_site.current().settings.language,
        updated=changed or datetime.fromtimestamp(0, now().tzinfo),
    )


def _item(node: Node | Photo, request: HttpRequest) -> Item:
    metadata = node.metadata
    origin = links.origin(request)
    author = metadata.author.get_absolute_url() if metadata.author else ""
    link = origin + node.get_absolute_url()
    html = texts.body(node, is_feed=True)
    enclosure = None
    picture = None
    if isinstance(node, Photo):
        html = format_html("<p>{}</p><p>{}</p>", addresses.picture(node), metadata.summary)
        detail = metadata.detail
        # How long the copy of what was cut is is not known before it is made: feeds say 0 then.
        kind, length = (detail.content_type, detail.size) if addresses.is_whole(node) else ("image/jpeg", 0)
        enclosure = Enclosure(origin + addresses.original(node), kind, length)
    elif node.picture:
        shared = addresses.shared(node.picture)
        picture = Picture(origin + shared.path, shared.width, shared.height)
    line = rendering.line
    values: dict[str, Any] = {"title": line(metadata.title), "link": link, "summary": line(node.blurb)}
    return Item(
        id=f"urn:marginalia:{node.pk}",
        html=absolute(html, link),
        enclosure=enclosure,
        picture=picture,
        published=metadata.published,
        updated=max(metadata.updated, metadata.published),
        author=metadata.author.name if metadata.author else "",
        author_url=author and origin + author,
        tags=tuple(metadata.tags),
        **values,
    )
