"""Pages for readers: an address, a selector, a template."""

import unicodedata
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote

from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import render
from django.urls import Resolver404, resolve
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.mongo.clock import now
from nodes import content, links
from nodes.models import Node, Photo, stored_site, tree
from nodes.selectors import by_hand, search, stored_nodes
from nodes.selectors.listing import Listing
from photos import addresses, labels, pictures, texts
from reader.selectors import authors, dates, pinned, related
from reader.selectors import facets as by_facet
from reader.views import facets, linked_data

# Photos on one page of a gallery: rows of two, three, four and six come out even.
PHOTOS_LISTED = 24


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the front page."""
    return front(request)


def front(request: HttpRequest, *, is_preview: bool = False) -> HttpResponse:
    """Answer the top-level page with the slug `home` or, without one, the newest posts of all blogs."""
    sections = tree.current()
    moment = now()
    if page := stored_nodes.front_page(sections, moment):
        return show(request, page, is_preview=is_preview)
    newest = listed(request, stored_nodes.newest_entries, sections, moment)
    about = linked_data.front(request, newest.nodes)
    return render(request, "nodes/home.html", {"listing": newest, "linked_data": about, "is_preview": is_preview})


@require_safe
def node(request: HttpRequest, path: str) -> HttpResponse:
    """Show the node at `path`; redirect to its one address where this is another, answer 404 where there is none."""
    found = stored_nodes.resolve(tree.current(), path, now())
    if found is None:
        raise Http404(_("There is no page at this address."))
    address = found.get_absolute_url()
    if request.path_info != unquote(address):
        return _moved(request, address)
    return show(request, found)


@require_safe
def without_slash(request: HttpRequest, path: str) -> HttpResponse:
    """Redirect what ends in a slash to the address without it, or at once to where the node has moved."""
    bare = f"/{path}"
    try:
        route = resolve(bare)
    except Resolver404:
        raise Http404(_("There is no page at this address.")) from None
    if route.url_name == "node":
        return node(request, path)
    if route.url_name == "blog-feed":
        # Not every address that ends like a feed is one: answer 404 at once, so that old addresses are looked up.
        section_at(route.kwargs["path"], content.NEWEST, content.PHOTOS)
    return _moved(request, request.path.rstrip("/"))


def section_at(path: str, *lists: str) -> Node:
    """Return the live section that a path leads to and that lists in one of these ways; Http404 where there is none."""
    section = stored_nodes.resolve(tree.current(), path, now())
    if section is None or section.content_type.lists not in lists:
        raise Http404(_("There is no such section at this address."))
    return section


def moved_with(request: HttpRequest, found: Node, path: str) -> HttpResponse | None:
    """Return the redirect of an address that begins with `path`, where its node has moved; None where it has not."""
    address = found.get_absolute_url()
    if unquote(address) == f"/{path}":
        return None
    return _moved(request, address + quote(request.path_info[len(path) + 1 :]))


def _moved(request: HttpRequest, address: str) -> HttpResponse:
    query = request.META.get("QUERY_STRING", "")
    # Browsers would keep it for ever: what was moved may be moved back, or something else stand there.
    return HttpResponsePermanentRedirect(
        f"{address}?{query}" if query else address, headers={"Cache-Control": "no-cache"}
    )


@require_safe
def tag(request: HttpRequest, tag: str) -> HttpResponse:
    """List what carries a tag."""
    tag = unicodedata.normalize("NFC", tag)
    tagged = listed(request, stored_nodes.tagged, tree.current(), tag, now())
    if not tagged.nodes:
        raise Http404(_("Nothing is tagged “%(tag)s”.") % {"tag": tag})
    return render(request, "nodes/tag.html", {"tag": tag, "listing": tagged})


@require_safe
def find_photos(request: HttpRequest) -> HttpResponse:
    """List the photos whose files say what the address asks for: ?camera=…&lens=…&focal_length=…&year=…"""
    wanted = labels.asked(request.GET)
    if not wanted:
        raise Http404(_("Say what to look for: a camera, a lens, a focal length, a year."))
    query = request.GET.copy()
    query.pop("from", None)
    context = {"words": " · ".join(str(value) for _name, value in wanted), "query": query.urlencode()}
    try:
        with search.at_most(search.MILLISECONDS):
            found = listed(request, stored_nodes.photos_having, tree.current(), wanted, now(), size=PHOTOS_LISTED)
    except search.TooSlow:
        # Each is quickly found, but no index tells of what few photos have all together.
        return render(request, "nodes/found-photos.html", context | {"too_slow": True}, status=503)
    return render(request, "nodes/found-photos.html", context | {"listing": found})


def show(
    request: HttpRequest, shown: Node | Photo, body: SafeString | None = None, *, is_preview: bool = False
) -> HttpResponse:
    """Answer the page of a node; the caller has checked who may see it.

    `body`: its text, where that is not what readers get of it; `is_preview`: without comments and forms.
    """
    more = _more(request, shown)
    crumbs = breadcrumbs(shown)
    photo = pictures.shared(shown, more["listing"].nodes[:1] if shown.content_type.lists == content.PHOTOS else ())
    picture = addresses.shared(photo) if photo else None
    context = {
        "node": shown,
        "body": texts.body(shown) if body is None else body,
        "breadcrumbs": crumbs,
        "picture": picture,
        "lead": pictures.lead(shown),
        "detail": shown.metadata.detail,
        "field_inserts": texts.in_fields(shown),
        "is_preview": is_preview,
    }
    context["linked_data"] = linked_data.script(request, shown, crumbs, picture)
    return _framing(render(request, shown.content_type.templates(), context | more), shown)


def _framing(response: HttpResponse, shown: Node | Photo) -> HttpResponse:
    """Return the response with what its page may show in frames, for the middleware that writes the policy."""
    if frames := texts.frames(shown):
        response._csp_update = {"frame-src": frames}
    return response


def _more(request: HttpRequest, shown: Node | Photo) -> dict[str, Any]:
    moment = now()
    if shown.content_type.is_of_author:
        return signed(request, authors.slugs_of(shown), moment)
    match shown.content_type.lists:
        case content.NEWEST:
            return _by_date(request, shown, moment)
        case content.UPCOMING:
            return _upcoming(request, shown, moment)
        case content.BY_NAME:
            return {"sections": tree.current().live_children(shown.pk, moment)} | _pages(request, shown, moment)
        case content.BY_HAND:
            return _by_hand(request, shown, moment)
        case content.PHOTOS:
            return {
                "listing": listed(
                    request,
                    stored_nodes.photos_of,
                    shown.pk,
                    moment,
                    size=shown.content_type.page_size or PHOTOS_LISTED,
                )
            }
    sections = tree.current()
    # The preview of a post without a section yet, which is beside nothing.
    is_placed = shown.metadata.parent_id or content.may_hold(None, shown.metadata.type)
    if (
        shown.metadata.published
        and is_placed
        and (shown.content_type.is_dated or sections.is_by_hand(shown.metadata.parent_id))
    ):
        older, newer = stored_nodes.neighbours(shown, moment)
        is_post = isinstance(shown, Node) and shown.content_type.is_dated
        like = related.related(sections, shown, moment) if is_post else None
        by_date = not sections.is_by_hand(shown.metadata.parent_id)
        return {"older": older, "newer": newer, "is_by_date": by_date, "related": like}
    return {}


def _narrowed(request: HttpRequest, narrowed: facets.Narrowed, found: Listing) -> dict[str, Any]:
    """Return a list that facets may narrow, and what it tells search engines: one address, whatever the order of the facets.

    Two facets and more, further pages of a facet, and what matches nothing are not for them.
    """
    is_alone = len(narrowed.wanted) == 1 and bool(found.nodes) and "from" not in request.GET
    if found.nodes:
        # What matches nothing is not worth a place among the pages that are kept: of that there is any number.
        request.facets_read = {name for name, _value in narrowed.wanted}
    return {
        "listing": found,
        "facets": replace(narrowed, is_matched=bool(found.nodes)),
        "query": narrowed.query,
        "canonical": links.canonical(request, narrowed.query),
        "is_noindex": bool(narrowed.wanted) and not is_alone,
    }


def _by_date(request: HttpRequest, section: Node, moment: datetime) -> dict[str, Any]:
    """Return a section's posts, or those that have all facets that the query names, with links that narrow the list."""
    narrowed = facets.asked(request.GET, section, moment)
    size = section.content_type.page_size or 0
    if not narrowed.wanted:
        return {"listing": listed(request, pinned.entries, section.pk, moment, size=size), "facets": narrowed}
    found = Listing(())
    if narrowed.type is not None:
        type = narrowed.type.type_name
        found = listed(request, by_facet.having, section.pk, type, narrowed.wanted, moment, size=size)
    return _narrowed(request, narrowed, found)


def _upcoming(request: HttpRequest, section: Node, moment: datetime) -> dict[str, Any]:
    """Return what a section lists by a date of its own: what is to come or, from ?from=past on, what is past; both may be
    narrowed by facets."""
    narrowed = facets.asked(request.GET, section, moment)
    size = section.content_type.page_size or 0
    type = narrowed.type.type_name if narrowed.type else ""
    wanted = [(type, name, value) for name, value in narrowed.wanted]
    found = listed(request, dates.by_date, section.pk, section.metadata.type, wanted, moment, size=size)
    return _narrowed(request, narrowed, found)


def signed(request: HttpRequest, slugs: Collection[str], moment: datetime) -> dict[str, Any]:
    """Return what readers see under the names with these slugs: posts from ?from=CURSOR on, and on the first page photos."""
    sections = tree.current()
    names = authors.names(slugs, moment)
    found = listed(request, authors.posts, sections, names, moment)
    photos = authors.photos(sections, names, moment).nodes if "from" not in request.GET else ()
    return {"listing": found, "photos": photos, "feeds": links.author(names[0]) if found.nodes else ""}


def _pages(request: HttpRequest, folder: Node, moment: datetime) -> dict[str, Any]:
    """Return a folder's pages from ?from=SLUG on, and the slug that the next list begins after."""
    size = folder.content_type.page_size or stored_nodes.PAGES_LISTED
    pages = stored_nodes.pages_of(folder.pk, moment, after=request.GET.get("from", ""), limit=size + 1)
    pictures.read(pages[:size])
    return {"pages": pages[:size], "pages_after": pages[size - 1].metadata.slug if len(pages) > size else None}


def _by_hand(request: HttpRequest, section: Node, moment: datetime) -> dict[str, Any]:
    """Return what stands in a section as editors arranged it, from ?from=CURSOR on, and the cursor of what follows."""
    size = section.content_type.page_size or stored_nodes.PAGES_LISTED
    try:
        pages, after = by_hand.page(section.pk, moment, size=size, cursor=request.GET.get("from", ""))
    except ValueError as error:
        raise Http404(_("There is no such page of this list.")) from error
    pictures.read(pages)
    return {"pages": pages, "pages_after": after}


def listed(request: HttpRequest, select: Callable[..., Listing], *arguments: Any, size: int = 0) -> Listing:
    """Return the page of a list that the request asks for by ?from=CURSOR, with pictures; Http404 where there is none."""
    try:
        found = select(
            *arguments,
            size=size or stored_site.current().settings.posts_per_page,
            cursor=request.GET.get("from") or None,
        )
    except ValueError as error:
        raise Http404(_("There is no such page of this list.")) from error
    pictures.read(found.nodes)
    return found


def breadcrumbs(shown: Node | Photo) -> list[dict[str, str]]:
    """Return the sections above a node, from the top down, as {title, url, type, lists}."""
    sections = tree.current()
    chain = sections.ancestors(shown.metadata.parent_id) or []
    return [
        {"title": s.title, "url": sections.url(s.parent_id, s.slug), "type": s.type, "lists": s.content_type.lists}
        for s in chain
    ]
