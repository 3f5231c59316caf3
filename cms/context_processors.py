"""What every template may show."""

from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from marginalia.mongo.clock import now
from nodes import links
from nodes.models import stored_site, tree
from nodes.models.look import fonts
from nodes.models.stored_site import DOCUMENTATION
from nodes.selectors import slugs, stored_nodes
from nodes.selectors.outline import outline
from photos import addresses, pictures
from reader.page_cache.keepable import is_personal
from reader.selectors import menus
from reader.selectors.menus import MenuLink
from reader.views import look


def site(request: HttpRequest) -> dict[str, Any]:
    """Add what the page around every text shows.

    `site`: the settings. `look`: what they change of the theme. `menu`: live sections, or what the settings name.
    `links_at_top`: pages that no section leads to, or what the settings name for the footer. `sidebar`: where a theme has
    one. `canonical`, `origin`: absolute addresses. `is_personal`: only then may a template look at `user`, `perms` or
    `messages`.
    """
    return {
        "site": stored_site.current().settings,
        "look": SimpleLazyObject(cache(_look)),
        "menu": SimpleLazyObject(cache(lambda: _menu(request))),
        "canonical": SimpleLazyObject(lambda: links.canonical(request)),
        "origin": SimpleLazyObject(lambda: links.origin(request)),
        "sidebar": SimpleLazyObject(cache(lambda: _sidebar(request))),
        "links_at_top": SimpleLazyObject(_links_at_top),
        "is_personal": is_personal(request),
    }


def _look() -> dict[str, Any]:
    """Return {sheet, fonts, logo, logo_dark, icons, social}: a path or "", names of fonts to load first, photos or None, paths
    by use, links."""
    named = stored_site.current().settings
    light, dark = pictures.logos()
    icons = {name.replace("-", "_"): addresses.icon(light, name) for name in addresses.ICONS} if light else {}
    files = {"sheet": look.address(named), "fonts": fonts(named)}
    return {**files, "logo": light, "logo_dark": dark, "icons": icons, "social": menus.arranged(named.social, now())}


def _links_at_top() -> list[MenuLink]:
    moment = now()
    if named := stored_site.current().settings.footer_links:
        return menus.arranged(named, moment)
    sections = tree.current()
    return [MenuLink(title, sections.url(None, slug)) for title, slug in stored_nodes.links_at_top(moment)]


def _menu(request: HttpRequest) -> dict[str, Any]:
    """Return {entries, inside}: what the settings name or else the live sections of the top level, and those in the one that
    the reader is in."""
    sections = tree.current()
    moment = now()
    named = stored_site.current().settings.menu
    entries = _marked(menus.arranged(named, moment) if named else sections.live_children(None, moment), request)
    current = next((entry for entry in entries if entry["current"]), None)
    inside = _marked(sections.live_children(current["id"], moment), request) if current and current["id"] else []
    return {"entries": entries, "inside": inside}


def _sidebar(request: HttpRequest) -> dict[str, Any] | None:
    """Return {title, url, current, entries}: all that stands in the section of the top level that the reader is in."""
    if stored_site.current().settings.theme != DOCUMENTATION:
        return None
    sections = tree.current()
    moment = now()
    section = sections.child(None, slugs.normalized(request.path.split("/")[1]))
    if section is None or not section.is_live(moment):
        return None
    url = sections.url(None, section.slug)
    here = quote(request.path)
    entries = [{"entry": one, "current": one.url == here} for one in outline(section.id, moment)]
    return {"title": section.title, "url": url, "current": url == here, "entries": entries} if entries else None


def _marked(links: Sequence[tree.Link | MenuLink], request: HttpRequest) -> list[dict[str, Any]]:
    """Return links with `current`: "page" where the reader is, "true" where the reader is below, "" elsewhere."""
    here = quote(request.path)

    def place(url: str) -> str:
        return "page" if here == url else "true" if here.startswith(f"{url}/") else ""

    return [{"title": link.title, "url": link.url, "id": link.id, "current": place(link.url)} for link in links]
