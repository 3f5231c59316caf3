"""Views for the public pages. Each view resolves a URL, calls selectors and renders a template."""

import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote, urlencode

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template import TemplateDoesNotExist
from django.template.loader import select_template
from django.urls import Resolver404, resolve, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.markup.html.anchors import Heading, outline
from marginalia.markup.text import fold
from marginalia.mongo.clock import now
from nodes import content, links
from nodes.models import Node, Photo, dependencies, stored_site, tree
from nodes.selectors import by_hand, routes, search, slugs, stored_nodes, stored_tags
from nodes.selectors.listing import Listing
from nodes.selectors.routes import FoundRoute
from photos import addresses, labels, pictures, texts
from reader.selectors import bylines, dates, faceted_lists, pinned, related, tag_counts
from reader.views import facets, linked_data, redirects

# A text with fewer headings, or a shorter reading time in minutes, has no table of contents of its own.
MIN_HEADINGS = 3
MIN_MINUTES = 3
CONTENTS_LEVELS = 2
# Number of photos per page of a gallery. It is divisible by 2, 3, 4 and 6, so that the last row is full.
PHOTOS_PER_PAGE = 24


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the front page."""
    return front_page(request)


def front_page(request: HttpRequest, *, is_preview: bool = False) -> HttpResponse:
    """Return the top-level page with the slug `home` or, if there is none, the newest posts in all blogs."""
    sections = tree.current()
    moment = now()
    if page := stored_nodes.front_page(sections, moment):
        return show(request, page, is_preview=is_preview)
    newest = paginate(request, stored_nodes.newest_entries, sections, moment)
    script = linked_data.front_page_script(request, newest.nodes)
    return render(request, "nodes/home.html", {"listing": newest, "linked_data": script, "is_preview": is_preview})


def node(request: HttpRequest, path: str) -> HttpResponseBase:
    """Show the node at `path`, call a route below a node, or redirect if the URL is different.

    A node that is currently at `path` takes precedence over a route. A route takes precedence over a redirect that an
    editor has added, and this redirect takes precedence over a node that used to be there.

    Raises:
        Http404: There is no live node and no route at `path`.
    """
    sections = tree.current()
    moment = now()
    node = stored_nodes.resolve(sections, path, moment)
    is_current = node is not None and unquote(node.get_absolute_url()) == f"/{slugs.normalized(path)}"
    if not is_current and (found := routes.find(sections, path, moment)):
        return _call_route(request, found)
    if node and not is_current and (added := redirects.response(request)):
        return added
    return _show_at_url(request, node)


@require_safe
def _show_at_url(request: HttpRequest, node: Node | Photo | None) -> HttpResponse:
    if node is None:
        raise Http404(_("There is no page at this URL."))
    url = node.get_absolute_url()
    if request.path_info != unquote(url):
        return redirect(request, url)
    return show(request, node)


def library_photo(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Show the page of a photo in the library, or redirect to the photo's page in a gallery."""
    found = stored_nodes.live_by_id(tree.current(), photo_id, now())
    return _show_at_url(request, found if isinstance(found, Photo) else None)


def _call_route(request: HttpRequest, found: FoundRoute) -> HttpResponseBase:
    """Return the response of a route. If the method returns a context, render the template of the route."""
    node = found.node
    route = found.route
    if request.path_info != unquote(found.url):
        return redirect(request, found.url)
    if request.method not in route.allowed_methods:
        return HttpResponseNotAllowed(route.allowed_methods)
    request.node_route = route  # The page cache reads this attribute.
    if route.reads:
        dependencies.record_orm_reads()
    response = route(node.metadata.detail, request, **found.values)
    if isinstance(response, Mapping):
        response = _render_route(request, found, response)
    if not isinstance(response, HttpResponseBase):
        raise TypeError(f"The route “{route.path}” returned {response!r} instead of a response or a context.")
    if not route.reads:
        # Some CDNs cache files such as /events/programme.pdf if this header is missing.
        response.setdefault("Cache-Control", "private, no-cache")
    return response


def _render_route(request: HttpRequest, found: FoundRoute, variables: Mapping[str, Any]) -> HttpResponse:
    node = found.node
    route = found.route
    query = urlencode([(name, request.GET[name]) for name in route.parameters if name in request.GET])
    context = {
        "node": node,
        "detail": node.metadata.detail,
        "breadcrumbs": [*breadcrumbs(node), {"title": node.metadata.title, "url": node.get_absolute_url()}],
        "canonical": links.origin(request) + found.url + (f"?{query}" if query else ""),
    }
    try:
        template = select_template(node.content_type.route_templates(route))
    except TemplateDoesNotExist as error:
        message = f"{error} (the template of the route “{route.path}” of {node.content_type.__name__})"
        raise TemplateDoesNotExist(message, chain=error.chain) from error
    return HttpResponse(template.render({**context, **variables}, request))


@require_safe
def without_slash(request: HttpRequest, path: str) -> HttpResponseBase:
    """Redirect a URL with a trailing slash to the URL without it, or directly to the new URL of a moved node."""
    try:
        route = resolve(f"/{path}")
    except Resolver404:
        raise Http404(_("There is no page at this URL.")) from None
    if route.url_name == "node":
        return node(request, path)
    if route.url_name == "blog-feed":
        # If there is no such section, this isn't the path of a feed. Raise Http404, so that the middleware can look up
        # old URLs.
        section_at(route.kwargs["path"], content.NEWEST, content.PHOTOS)
    return redirect(request, request.path.rstrip("/"))


def section_at(path: str, *lists: str) -> Node:
    """Return the live section at `path` if its type lists its contents in one of the ways in `lists`.

    Raises:
        Http404: There is no such section.
    """
    section = stored_nodes.resolve(tree.current(), path, now())
    if section is None or section.content_type.lists not in lists:
        raise Http404(_("There is no section at this URL."))
    return section


def redirect_if_moved(request: HttpRequest, node: Node, path: str) -> HttpResponse | None:
    """Return a redirect that keeps the rest of the URL if `node` is no longer at `path`. Otherwise, return None."""
    url = node.get_absolute_url()
    if unquote(url) == f"/{path}":
        return None
    return redirect(request, url + quote(request.path_info[len(path) + 1 :]))


def redirect(request: HttpRequest, url: str) -> HttpResponse:
    """Return a permanent redirect to `url` that keeps the query string."""
    query = request.META.get("QUERY_STRING", "")
    # By default, browsers cache permanent redirects forever. However, the node can be moved back, or another node can
    # get the old URL.
    return HttpResponsePermanentRedirect(f"{url}?{query}" if query else url, headers={"Cache-Control": "no-cache"})


@require_safe
def tag(request: HttpRequest, tag: str) -> HttpResponse:
    """List the posts, pages and photos that have the given tag."""
    tag = unicodedata.normalize("NFC", tag)
    tagged = paginate(request, stored_nodes.tagged, tree.current(), tag, now())
    stored_tag = stored_tags.get(tag)
    if not tagged.nodes and stored_tag.renamed_to:
        return redirect(request, reverse("tag", args=[stored_tag.renamed_to]))
    if not tagged.nodes:
        raise Http404(_("No pages have the tag “%(tag)s”.") % {"tag": tag})
    return render(request, "nodes/tag.html", {"tag": tag, "listing": tagged, "description": stored_tag.description})


@require_safe
def tags(request: HttpRequest) -> HttpResponse:
    """List all tags, with the number of pages and photos that have each tag."""
    counts = tag_counts.count_tags(tree.current(), now())
    return render(request, "nodes/tags.html", {"tags": sorted(counts.items(), key=lambda item: fold(item[0]))})


@require_safe
def find_photos(request: HttpRequest) -> HttpResponse:
    """List photos by the metadata in their files, such as ?camera=…&lens=…&focal_length=…&year=…."""
    wanted = labels.parse_query(request.GET)
    if not wanted:
        raise Http404(_("Choose what to search for: a camera, a lens, a focal length or a year."))
    query = request.GET.copy()
    query.pop("from", None)
    context = {"words": " · ".join(str(value) for _name, value in wanted), "query": query.urlencode()}
    try:
        with search.search_time_limit(search.MILLISECONDS):
            photos = paginate(request, stored_nodes.photos_with, tree.current(), wanted, now(), size=PHOTOS_PER_PAGE)
    except search.SearchTimeout:
        # There are indexes for single properties, but a rare combination of properties can take too long to find.
        return render(request, "nodes/found-photos.html", context | {"too_slow": True}, status=503)
    return render(request, "nodes/found-photos.html", context | {"listing": photos})


def show(
    request: HttpRequest, node: Node | Photo, body: SafeString | None = None, *, is_preview: bool = False
) -> HttpResponse:
    """Return a node's page. The caller must check that the user can see the node.

    Args:
        request: The request.
        node: The node or photo.
        body: The body text to show, or None for the node's own text.
        is_preview: Whether to omit comments and forms.
    """
    type_context = _type_context(request, node)
    crumbs = breadcrumbs(node)
    listed_photos = type_context["listing"].nodes[:1] if node.content_type.lists == content.PHOTOS else ()
    photo = pictures.share_photo(node, listed_photos)
    picture = addresses.share_image(photo) if photo else None
    body = texts.body(node) if body is None else body
    context = {
        "node": node,
        "body": body,
        "headings": _headings(node, body),
        "breadcrumbs": crumbs,
        "picture": picture,
        "lead": pictures.lead(node),
        "detail": node.metadata.detail,
        "field_inserts": texts.field_insert_names(node),
        "is_preview": is_preview,
    }
    context["linked_data"] = linked_data.node_script(request, node, crumbs, picture)
    if not {"listing", "pages"} & type_context.keys():
        # `from` isn't the position in a list. Chat apps add such parameters to shared links.
        context["canonical"] = links.origin(request) + quote(request.path)
    context |= type_context
    if node.metadata.detail is not None:
        context |= node.metadata.detail.get_context(request)
    return _allow_iframes(render(request, node.content_type.templates(), context), node)


def _headings(node: Node | Photo, body: str) -> list[tuple[Heading, int]]:
    """Return the headings of a long text, each with its level from 1, unless an editor has inserted a list of them."""
    if node.minutes < MIN_MINUTES or "insert-contents" in body:
        return []
    headings = outline(body, CONTENTS_LEVELS)
    return headings if len(headings) >= MIN_HEADINGS else []


def _allow_iframes(response: HttpResponse, node: Node | Photo) -> HttpResponse:
    """Record the origins of the page's iframes on the response, for the Content-Security-Policy middleware."""
    if origins := texts.iframe_origins(node):
        response._csp_update = {"frame-src": origins}
    return response


def _type_context(request: HttpRequest, node: Node | Photo) -> dict[str, Any]:
    """Return the template variables that depend on the type: a section's list, neighbours, and related posts."""
    moment = now()
    if node.content_type.is_of_author:
        return byline_context(request, bylines.author_slugs(node), moment)
    if tree.current().is_by_hand(node.pk):
        return _by_hand(request, node, moment)
    match node.content_type.lists:
        case content.NEWEST:
            return _newest_posts(request, node, moment)
        case content.UPCOMING:
            return _upcoming(request, node, moment)
        case content.BY_NAME:
            return {"sections": tree.current().live_children(node.pk, moment)} | _pages(request, node, moment)
        case content.PHOTOS:
            return {
                "listing": paginate(
                    request,
                    stored_nodes.photos_of,
                    node.pk,
                    moment,
                    size=node.content_type.page_size or PHOTOS_PER_PAGE,
                )
            }
    sections = tree.current()
    # A preview can show a post that has no section yet, and therefore no neighbours.
    is_placed = node.metadata.parent_id or content.may_hold(None, node.metadata.type)
    if (
        node.metadata.published
        and is_placed
        and (node.content_type.is_dated or sections.is_by_hand(node.metadata.parent_id))
    ):
        older, newer = stored_nodes.neighbours(node, moment)
        by_date = not sections.is_by_hand(node.metadata.parent_id)
        return {"older": older, "newer": newer, "is_by_date": by_date} | _around_post(node, moment)
    return {}


def _around_post(node: Node | Photo, moment: datetime) -> dict[str, Any]:
    """Return the related pages and the page about the author of a post, with their photos. Other nodes have neither."""
    if not (isinstance(node, Node) and node.content_type.is_dated):
        return {}
    sections = tree.current()
    related_pages = related.find_related(sections, node, moment)
    author_page = bylines.find_page(sections, node.metadata.author.name, moment)
    pictures.attach([*related_pages.nodes, *filter(None, [author_page])])
    return {"related": related_pages, "author_page": author_page}


def _filtered_context(request: HttpRequest, facet_filter: facets.FacetFilter, listing: Listing) -> dict[str, Any]:
    """Return the template variables for a list with facets. The canonical URL doesn't depend on the facets' order.

    If a list is empty, is filtered by several values, or is a later page of a filtered list, it is marked as noindex.
    """
    is_indexed = len(facet_filter.wanted) == 1 and bool(listing.nodes) and "from" not in request.GET
    if listing.nodes:
        # Empty lists aren't cached, because there is no limit to the number of filters that match nothing.
        request.facets_read = {name for name, _value in facet_filter.wanted}
    return {
        "listing": listing,
        "facets": replace(facet_filter, is_matched=bool(listing.nodes)),
        "query": facet_filter.query,
        "canonical": links.canonical(request, facet_filter.query),
        "is_noindex": bool(facet_filter.wanted) and not is_indexed,
    }


def _newest_posts(request: HttpRequest, section: Node, moment: datetime) -> dict[str, Any]:
    """Return a section's posts, filtered by the facets in the query string, and links for further filtering."""
    facet_filter = facets.parse_filter(request.GET, section, moment)
    size = section.content_type.page_size or 0
    if not facet_filter.wanted:
        listing = paginate(request, pinned.entries, section.pk, moment, size=size)
        return {"listing": listing, "facets": facet_filter}
    listing = Listing(())
    if facet_filter.type is not None:
        type = facet_filter.type.type_name
        listing = paginate(request, faceted_lists.filtered, section.pk, type, facet_filter.wanted, moment, size=size)
    return _filtered_context(request, facet_filter, listing)


def _upcoming(request: HttpRequest, section: Node, moment: datetime) -> dict[str, Any]:
    """Return a section's upcoming pages, or past pages for ?from=past…, filtered by the facets in the query string."""
    facet_filter = facets.parse_filter(request.GET, section, moment)
    size = section.content_type.page_size or 0
    type = facet_filter.type.type_name if facet_filter.type else ""
    wanted = [(type, name, value) for name, value in facet_filter.wanted]
    listing = paginate(request, dates.by_date, section.pk, section.metadata.type, wanted, moment, size=size)
    return _filtered_context(request, facet_filter, listing)


def byline_context(request: HttpRequest, slugs: Collection[str], moment: datetime) -> dict[str, Any]:
    """Return the posts at ?from=CURSOR by authors with these slugs. Include the authors' photos on the first page."""
    sections = tree.current()
    names = bylines.names(slugs, moment)
    posts = paginate(request, bylines.posts, sections, names, moment)
    photos = bylines.photos(sections, names, moment).nodes if "from" not in request.GET else ()
    return {"listing": posts, "photos": photos, "feeds": links.author(names[0]) if posts.nodes else ""}


def _pages(request: HttpRequest, folder: Node, moment: datetime) -> dict[str, Any]:
    """Return a folder's pages after ?from=SLUG, and the slug after which the next page of the list begins."""
    size = folder.content_type.page_size or stored_nodes.PAGES_LISTED
    pages = stored_nodes.pages_of(folder.pk, moment, after=request.GET.get("from", ""), limit=size + 1)
    pictures.attach(pages[:size])
    return {"pages": pages[:size], "pages_after": pages[size - 1].metadata.slug if len(pages) > size else None}


def _by_hand(request: HttpRequest, section: Node, moment: datetime) -> dict[str, Any]:
    """Return a section's nodes at ?from=CURSOR, in manual order, and the cursor of the next page of the list."""
    size = section.content_type.page_size or stored_nodes.PAGES_LISTED
    try:
        pages, after = by_hand.page(section.pk, moment, size=size, cursor=request.GET.get("from", ""))
    except ValueError as error:
        raise Http404(_("This page of the list doesn't exist.")) from error
    pictures.attach(pages)
    return {"pages": pages, "pages_after": after}


def paginate(request: HttpRequest, select: Callable[..., Listing], *arguments: Any, size: int = 0) -> Listing:
    """Return the page of a list at ?from=CURSOR, with photos attached to its nodes.

    Args:
        request: The request.
        select: A selector that accepts `arguments`, `size` and `cursor`.
        arguments: The positional arguments for the selector.
        size: The page size, or 0 for the site's setting.

    Raises:
        Http404: The cursor is invalid.
    """
    try:
        listing = select(
            *arguments,
            size=size or stored_site.current().settings.posts_per_page,
            cursor=request.GET.get("from") or None,
        )
    except ValueError as error:
        raise Http404(_("This page of the list doesn't exist.")) from error
    pictures.attach(listing.nodes)
    return listing


def breadcrumbs(node: Node | Photo) -> list[dict[str, str]]:
    """Return a node's parent sections, beginning at the top level, as {title, url, type, lists}."""
    sections = tree.current()
    return [
        {
            "title": section.title,
            "url": sections.url(section.parent_id, section.slug),
            "type": section.type,
            "lists": section.content_type.lists,
        }
        for section in sections.ancestors(node.metadata.parent_id) or []
    ]
