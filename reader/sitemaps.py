"""The views for robots.txt and sitemap.xml. The sitemap is an index of pages that list URLs."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from urllib.parse import quote
from xml.sax.saxutils import escape

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.mongo.clock import now
from nodes import content, links
from nodes.content import FILE, NEWEST, registry
from nodes.models import tree
from nodes.models.tree import Tree
from nodes.selectors import stored_nodes
from nodes.selectors.listing import BEGINNING
from reader.selectors import bylines, sitemap, tag_counts

XML = "application/xml; charset=utf-8"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
# The kind of the first page, which lists the sections. This page needs no query, because the section tree is cached.
SECTIONS = "sections"


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the pages of the sitemap."""
    sections = tree.current()
    moment = now()
    origin = links.origin(request)
    names = [(SECTIONS, 1)]
    names += [
        (type, n + 1)
        for type in registry.non_sections()
        if type != FILE
        for n in range(len(sitemap.page_starts(sections, type, moment)))
    ]
    lines = (f"<sitemap><loc>{origin}{reverse('sitemap-page', args=name)}</loc></sitemap>" for name in names)
    return _xml("sitemapindex", lines)


@require_safe
def page(request: HttpRequest, kind: str, number: int) -> HttpResponse:
    """List the URLs on one page of the sitemap, with the times of their last changes."""
    origin = links.origin(request)
    if kind == SECTIONS and number == 1:
        return _xml("urlset", (_line(origin, url, changed) for url, changed in _sections(now())))
    entries = sitemap.entries(tree.current(), kind, number, now()) if kind in registry.non_sections() else None
    if entries is None:
        raise Http404(_("This part of the sitemap doesn't exist."))
    url = tree.current().url
    lines = (
        _line(origin, path, changed)
        for entry in entries
        for path, changed in _with_routes(kind, url(entry.parent_id, entry.slug), entry.updated)
    )
    return _xml("urlset", lines)


def _with_routes(type: str, url: str, changed: datetime) -> Iterator[tuple[str, datetime | None]]:
    """Yield the path and last change of a node and of its routes in the sitemap. A route's last change is None."""
    yield url, changed
    for route in content.get(type).declared_routes:
        if route.in_sitemap:
            yield Tree.url_below(url, quote(route.path)), None


def _sections(moment: datetime) -> Iterator[tuple[str, datetime | None]]:
    """Yield the path and last change of the front page, of all live sections, and of pages that list other pages.

    These are the list of tags, and the lists of the posts of authors without an author page.
    """
    sections = tree.current()
    newest = sitemap.newest_by_section(sections, moment)
    posts = (
        published
        for section_id, published in newest.items()
        if sections.sections[section_id].content_type.lists == NEWEST
    )
    front = stored_nodes.front_page(sections, moment)
    yield "/", front.metadata.updated if front else max(posts, default=None)
    for section_id in sections.live_ids(moment):
        if section_id is not None:
            section = sections.sections[section_id]
            changed = max(section.updated, newest.get(section_id, BEGINNING))
            yield from _with_routes(section.type, sections.url(section.parent_id, section.slug), changed)
    if tag_counts.count_tags(sections, moment):
        yield reverse("tags"), None
    # Authors who have an author page are skipped, because these pages are already in the sitemap.
    pages = bylines.pages(sections, moment)
    for slug, (_name, published) in sorted(bylines.authors(sections, moment).items()):
        if slug not in pages:
            yield reverse("author", args=[slug]), published


def _line(origin: str, path: str, changed: datetime | None = None) -> str:
    lastmod = f"<lastmod>{changed.isoformat(timespec='seconds')}</lastmod>" if changed else ""
    return f"<url><loc>{escape(origin + path)}</loc>{lastmod}</url>"


def _xml(root: str, lines: Iterable[str]) -> HttpResponse:
    return HttpResponse(f"{_HEAD}<{root} {_NAMESPACE}>\n" + "\n".join(lines) + f"\n</{root}>\n", content_type=XML)


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Return robots.txt, which contains the sitemap's URL and forbids crawling the admin and search results."""
    lines = [
        "User-agent: *",
        "Disallow: /admin/",
        "Disallow: /search?",
        "Disallow: /search/",
        f"Sitemap: {links.origin(request)}{reverse('sitemap')}",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")
