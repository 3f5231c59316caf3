"""sitemap.xml, an index of pages of addresses, and robots.txt."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from xml.sax.saxutils import escape

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.mongo.clock import now
from nodes import links
from nodes.content import NEWEST, registry
from nodes.models import tree
from nodes.selectors import stored_nodes
from nodes.selectors.listing import BEGINNING
from reader.selectors import authors, sitemap

XML = "application/xml; charset=utf-8"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
# The sections are the first of all: they are known without asking the database.
SECTIONS = "sections"


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the pages of the sitemap."""
    sections = tree.current()
    moment = now()
    origin = links.origin(request)
    names = [(SECTIONS, 1)]
    names += [
        (type, n + 1) for type in registry.non_sections() for n in range(len(sitemap.starts(sections, type, moment)))
    ]
    lines = (f"<sitemap><loc>{origin}{reverse('sitemap-page', args=name)}</loc></sitemap>" for name in names)
    return _xml("sitemapindex", lines)


@require_safe
def page(request: HttpRequest, kind: str, number: int) -> HttpResponse:
    """List one page of addresses, with the time of each last change."""
    origin = links.origin(request)
    if kind == SECTIONS and number == 1:
        return _xml("urlset", (_line(origin, url, changed) for url, changed in _sections(now())))
    found = sitemap.entries(tree.current(), kind, number, now()) if kind in registry.non_sections() else None
    if found is None:
        raise Http404(_("There is no such page of the sitemap."))
    url = tree.current().url
    return _xml("urlset", (_line(origin, url(entry.parent_id, entry.slug), entry.updated) for entry in found))


def _sections(moment: datetime) -> Iterator[tuple[str, datetime | None]]:
    """Yield the paths of the front page, of all live sections and of authors, each with the last change of what it shows."""
    sections = tree.current()
    newest = sitemap.newest(sections, moment)
    posts = (at for section_id, at in newest.items() if sections.sections[section_id].content_type.lists == NEWEST)
    front = stored_nodes.front_page(sections, moment)
    yield "/", front.metadata.updated if front else max(posts, default=None)
    for section_id in sections.live_ids(moment):
        if section_id is not None:
            section = sections.sections[section_id]
            yield sections.url(section.parent_id, section.slug), max(section.updated, newest.get(section_id, BEGINNING))
    # Those of whom a page of their own tells are in the sitemap with that.
    told_of = authors.pages(sections, moment)
    for slug, (_name, at) in sorted(authors.bylines(sections, moment).items()):
        if slug not in told_of:
            yield reverse("author", args=[slug]), at


def _line(origin: str, path: str, changed: datetime | None = None) -> str:
    lastmod = f"<lastmod>{changed.isoformat(timespec='seconds')}</lastmod>" if changed else ""
    return f"<url><loc>{escape(origin + path)}</loc>{lastmod}</url>"


def _xml(root: str, lines: Iterable[str]) -> HttpResponse:
    return HttpResponse(f"{_HEAD}<{root} {_NAMESPACE}>\n" + "\n".join(lines) + f"\n</{root}>\n", content_type=XML)


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Say where the sitemap is, and that the admin and the endless pages of search are for people."""
    lines = [
        "User-agent: *",
        "Disallow: /admin/",
        "Disallow: /search",
        f"Sitemap: {links.origin(request)}{reverse('sitemap')}",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")
