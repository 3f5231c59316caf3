"""Variables for all templates."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote

from bson import ObjectId
from django.http import HttpRequest

from marginalia.mongo.clock import now
from nodes import links
from nodes.models import stored_site, tree
from nodes.models.look import fonts
from nodes.selectors import slugs, stored_nodes
from nodes.selectors.outline import outline
from nodes.themes import DOCUMENTATION
from photos import addresses, pictures
from reader.page_cache.cacheable import is_personal
from reader.selectors import menus
from reader.selectors.menus import MenuLink
from reader.views import look


def site(request: HttpRequest) -> dict[str, Any]:
    """Return the variables that the base templates use.

    Returns:
        The variables, keyed by name:

        - `site`: the site settings.
        - `theme`: the name of the theme of the current section or, if there is none, of the site.
        - `look`: the parts of the theme that depend on the settings.
        - `menu`: the menu in the settings, or the live top-level sections.
        - `links_at_top`: the footer links in the settings, or the live pages at the top level.
        - `sidebar`: the contents of the current section, or None if the theme has no sidebar.
        - `canonical`: the page's canonical URL.
        - `origin`: the site's origin, such as "https://example.org".
        - `is_home`: whether this is the home page.
        - `is_search`: whether this is the search page.
        - `is_personal`: whether a template can use `user`, `perms` and `messages`.

        Some values are functions, which templates call when they use the variable.
    """
    theme = cache(lambda: _theme(request))
    return {
        "site": stored_site.current().settings,
        "theme": theme,
        "look": cache(lambda: _look(theme())),
        "menu": cache(lambda: _menu(request)),
        "canonical": cache(lambda: links.canonical(request)),
        "origin": cache(lambda: links.origin(request)),
        "sidebar": cache(lambda: _sidebar(request, theme())),
        "links_at_top": cache(_links_at_top),
        "is_home": request.path == "/",
        "is_search": request.resolver_match is not None and request.resolver_match.url_name == "search",
        "is_personal": is_personal(request),
    }


@dataclass(frozen=True)
class MenuEntry:
    """A link in the menu.

    Attributes:
        current: The link's aria-current value: "page" for the current page, "true" for its ancestors, "" otherwise.
        id: The id of the linked page or section of this site, or None for other links.
    """

    title: str
    url: str
    current: str
    id: ObjectId | None = field(compare=False)


def _theme(request: HttpRequest) -> str:
    """Return the theme of the nearest section in the path that has one. If there is none, return the site's theme.

    Sections that readers can't see are ignored, so that their URLs look like those of missing pages.
    """
    sections = tree.current()
    moment = now()
    theme = stored_site.current().settings.theme
    section_id = None
    for slug in request.path.strip("/").split("/"):
        section = sections.child(section_id, slugs.normalized(slug))
        if section is None or not section.is_live(moment):
            break
        section_id, theme = section.id, section.theme or theme
    return theme


def _look(theme: str) -> dict[str, Any]:
    """Return {sheet, fonts, logo, logo_dark, icons, social}.

    `sheet` is the path of a style sheet or "", and `fonts` lists the fonts to preload. `logo` and `logo_dark` are
    photos or None. `icons` contains the path of each icon, keyed by use, and `social` is a list of links.
    """
    settings = stored_site.current().settings
    light, dark = pictures.logos()
    icons = {name.replace("-", "_"): addresses.icon_path(light, name) for name in addresses.ICONS} if light else {}
    files = {"sheet": look.stylesheet_url(settings), "fonts": fonts(settings, theme)}
    return {
        **files,
        "logo": light,
        "logo_dark": dark,
        "icons": icons,
        "social": tuple(menus.resolve_links(settings.social, now())),
    }


def _links_at_top() -> tuple[MenuLink, ...]:
    moment = now()
    if footer_links := stored_site.current().settings.footer_links:
        return tuple(menus.resolve_links(footer_links, moment))
    sections = tree.current()
    return tuple(MenuLink(title, sections.url(None, slug)) for title, slug in stored_nodes.links_at_top(moment))


def _menu(request: HttpRequest) -> dict[str, Any]:
    """Return {entries, current, inside}.

    `entries` is the menu from the settings. If that menu is empty, `entries` contains the live top-level sections.
    `current` is the entry of the section that the reader is in, or None. `inside` contains its live subsections.
    """
    sections = tree.current()
    moment = now()
    menu = stored_site.current().settings.menu
    entries = _mark_current(
        menus.resolve_links(menu, moment) if menu else sections.live_children(None, moment), request
    )
    current = next((entry for entry in entries if entry.current), None)
    inside = _mark_current(sections.live_children(current.id, moment), request) if current and current.id else ()
    return {"entries": entries, "current": current, "inside": inside}


def _sidebar(request: HttpRequest, theme: str) -> dict[str, Any] | None:
    """Return {title, url, current, entries} for the outline of the top-level section that the reader is in.

    Return None if the theme has no sidebar, or if the reader isn't in a live section with entries.
    """
    if theme != DOCUMENTATION:
        return None
    sections = tree.current()
    moment = now()
    section = sections.child(None, slugs.normalized(request.path.split("/")[1]))
    if section is None or not section.is_live(moment):
        return None
    url = sections.url(None, section.slug)
    path = quote(request.path)
    entries = [{"entry": entry, "current": entry.url == path} for entry in outline(section.id, moment)]
    return {"title": section.title, "url": url, "current": url == path, "entries": entries} if entries else None


def _mark_current(links: Sequence[tree.Link | MenuLink], request: HttpRequest) -> tuple[MenuEntry, ...]:
    path = quote(request.path)

    def current(url: str) -> str:
        return "page" if path == url else "true" if path.startswith(f"{url}/") else ""

    return tuple(MenuEntry(link.title, link.url, current(link.url), link.id) for link in links)
