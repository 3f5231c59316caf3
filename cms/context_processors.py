"""What every template may show."""

from functools import cache
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from mongo.clock import now
from nodes import links
from nodes.models import site as stored_site
from nodes.models import tree
from nodes.selectors import nodes as selectors


def site(request: HttpRequest) -> dict[str, Any]:
    """Add what the page around every text shows.

    `site`: the settings. `menu`: live sections. `links_at_top`: pages that no section leads to. `canonical`, `origin`: absolute
    addresses. `is_personal`: only then may a template look at `user`, `perms` or `messages`.
    """
    return {
        "site": stored_site.current().settings,
        "menu": SimpleLazyObject(cache(lambda: _menu(request))),
        "canonical": SimpleLazyObject(lambda: links.canonical(request)),
        "origin": SimpleLazyObject(lambda: links.origin(request)),
        "links_at_top": SimpleLazyObject(_links_at_top),
        "is_personal": is_personal(request),
    }


def is_personal(request: HttpRequest) -> bool:
    """Return whether the request may be one visitor's own: a page made without a session or messages is made for all."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES or "messages" in request.COOKIES


def _links_at_top() -> list[dict[str, str]]:
    sections = tree.current()
    return [{"title": title, "url": sections.url(None, slug)} for title, slug in selectors.links_at_top(now())]


def _menu(request: HttpRequest) -> dict[str, Any]:
    """Return {entries, inside}: the live sections of the top level, and those in the one that the reader is in."""
    sections, moment = tree.current(), now()
    entries = _marked(sections.live_children(None, moment), request)
    current = next((entry for entry in entries if entry["current"]), None)
    inside = _marked(sections.live_children(current["id"], moment), request) if current else []
    return {"entries": entries, "inside": inside}


def _marked(links: list[tree.Link], request: HttpRequest) -> list[dict[str, Any]]:
    """Return links with `current`: "page" where the reader is, "true" where the reader is below, "" elsewhere."""
    here = quote(request.path)

    def place(url: str) -> str:
        return "page" if here == url else "true" if here.startswith(f"{url}/") else ""

    return [{"title": link.title, "url": link.url, "id": link.id, "current": place(link.url)} for link in links]
