"""Feeds for the site, a blog, a gallery, a tag or an author. They contain the whole text of the newest posts.

Item ids are derived from node ids and never change. URLs are absolute, including URLs in the text. The entity tag is a
digest of the response, so clients that already have the feed receive a 304. Last-Modified is for clients that compare
only dates. It is the time of the site's last change, because a feed contains no date for a deleted post.
"""

import hashlib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.html import format_html
from django.utils.http import http_date
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.markup.html.absolute import make_absolute
from marginalia.mongo.clock import now
from nodes import links, rendering
from nodes.content import NEWEST, PHOTOS
from nodes.models import Node, Photo, stored_site, tree
from nodes.selectors import due, stored_nodes, stored_tags
from photos import addresses, pictures, texts
from reader.selectors import bylines
from reader.views.feed_formats import FORMATS, Channel, Enclosure, Item, Picture
from reader.views.pages import redirect, redirect_if_moved, section_at

MAX_ENTRIES = 20


@dataclass(frozen=True)
class Source:
    """The content of a feed.

    Attributes:
        path: The URL path of the page that the feed belongs to.
    """

    title: str
    description: str
    path: str
    nodes: tuple[Node | Photo, ...]
    changed: datetime | None = None


def _site_source() -> Source:
    settings = stored_site.current().settings
    listing = stored_nodes.newest_entries(tree.current(), now(), size=MAX_ENTRIES, whole=True)
    return Source(settings.name, settings.tagline or settings.name, "/", listing.nodes)


def _section_source(section: Node) -> Source:
    select = stored_nodes.photos_of if section.content_type.lists == PHOTOS else stored_nodes.entries
    listing = select(section.pk, now(), size=MAX_ENTRIES, whole=True)
    metadata = section.metadata
    title = f"{metadata.title} · {stored_site.current().settings.name}"
    return Source(title, section.blurb or metadata.title, section.get_absolute_url(), listing.nodes, metadata.updated)


def _tag_source(tag: str) -> Source:
    tag = unicodedata.normalize("NFC", tag)
    listing = stored_nodes.tagged(tree.current(), tag, now(), size=MAX_ENTRIES, whole=True)
    if not listing.nodes:
        raise Http404(_("No pages have the tag “%(tag)s”.") % {"tag": tag})
    title = f"{tag} · {stored_site.current().settings.name}"
    description = _("Tagged “%(tag)s”") % {"tag": tag}
    return Source(title, description, reverse("tag", args=[tag]), listing.nodes)


def _author_source(slug: str) -> Source:
    sections = tree.current()
    moment = now()
    page = bylines.pages(sections, moment).get(slug)
    names = bylines.names(bylines.author_slugs(page) if page else [slug], moment)
    listing = bylines.posts(sections, names, moment, size=MAX_ENTRIES, whole=True)
    if not listing.nodes:
        raise Http404(_("No pages are published under this name."))
    name = page.metadata.title if page else min(node.metadata.author.name for node in listing.nodes)
    title = f"{name} · {stored_site.current().settings.name}"
    description = (page.blurb if page else "") or _("Written by %(name)s") % {"name": name}
    return Source(title, description, page.get_absolute_url() if page else links.author(name), listing.nodes)


@require_safe
def site(request: HttpRequest, form: str) -> HttpResponse:
    """Return the feed with the posts from all blogs."""
    return _respond(request, form, _site_source)


@require_safe
def blog(request: HttpRequest, path: str, form: str) -> HttpResponse:
    """Return the feed of a blog or gallery, or redirect to the feed's new URL if the section has moved."""
    section = section_at(path, NEWEST, PHOTOS)
    return redirect_if_moved(request, section, path) or _respond(request, form, lambda: _section_source(section))


@require_safe
def tag(request: HttpRequest, tag: str, form: str) -> HttpResponse:
    """Return the feed with the posts and photos that have the given tag, or redirect if the tag was renamed."""
    try:
        return _respond(request, form, lambda: _tag_source(tag))
    except Http404:
        if new_name := stored_tags.get(unicodedata.normalize("NFC", tag)).renamed_to:
            return redirect(request, reverse("tag-feed", args=[new_name, form]))
        raise


@require_safe
def author(request: HttpRequest, slug: str, form: str) -> HttpResponse:
    """Return the feed with the posts credited to the author's name."""
    return _respond(request, form, lambda: _author_source(slug))


def _respond(request: HttpRequest, form: str, read: Callable[[], Source]) -> HttpResponse:
    if form not in FORMATS:
        raise Http404(_("There is no feed at this URL."))
    write, content_type = FORMATS[form]
    source = read()
    pictures.attach(source.nodes)
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
        # If the photo is cropped, the enclosure is a copy. Until it is generated, its size is given as 0.
        content_type, length = (detail.content_type, detail.size) if addresses.is_whole(node) else ("image/jpeg", 0)
        enclosure = Enclosure(origin + addresses.original_path(node), content_type, length)
    elif node.picture:
        copy = addresses.share_image(node.picture)
        picture = Picture(origin + copy.path, copy.width, copy.height)
    line = partial(rendering.line, language=node.language)
    values: dict[str, Any] = {"title": line(metadata.title), "link": link, "summary": line(node.blurb)}
    return Item(
        id=f"urn:marginalia:{node.pk}",
        html=make_absolute(html, link),
        language=node.language,
        enclosure=enclosure,
        picture=picture,
        published=metadata.published,
        updated=max(metadata.updated, metadata.published),
        author=metadata.author.name if metadata.author else "",
        author_url=author and origin + author,
        tags=tuple(metadata.tags),
        **values,
    )
