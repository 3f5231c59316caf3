"""Pages for readers: an address, a selector, a template."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from mongo.connection import now
from nodes import kinds, rendering, tree
from nodes.models import Node
from nodes.selectors import nodes as selectors
from nodes.selectors import site as site_selectors


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the top-level page with the slug `home` or, without one, the newest posts of all blogs."""
    sections, moment = tree.current(), now()
    if page := selectors.resolve(sections, "", moment).node:
        return _show(request, page)
    return render(
        request, "nodes/home.html", {"listing": _listing(request, selectors.newest_entries, sections, moment)}
    )


@require_safe
def node(request: HttpRequest, path: str) -> HttpResponse:
    """Show the node at `path`, redirect to where it has moved, or answer 404."""
    found = selectors.resolve(tree.current(), path, now())
    if found.redirect:
        return HttpResponsePermanentRedirect(found.redirect)
    if found.node is None:
        raise Http404(_("There is no page at this address."))
    if request.path != found.node.get_absolute_url() and found.node.get_absolute_url() == "/":
        return redirect("home", permanent=True)
    return _show(request, found.node)


@require_safe
def tag(request: HttpRequest, tag: str) -> HttpResponse:
    """List what carries a tag."""
    sections, moment = tree.current(), now()
    listing = _listing(request, selectors.tagged, sections, tag, moment)
    if not listing.nodes:
        raise Http404(_("Nothing is tagged “%(tag)s”.") % {"tag": tag})
    return render(request, "nodes/tag.html", {"tag": tag, "listing": listing})


def _show(request: HttpRequest, shown: Node) -> HttpResponse:
    context = {"node": shown, "body": rendering.body(shown), "breadcrumbs": breadcrumbs(shown)}
    return render(request, f"nodes/{shown.metadata.type}.html", context | _more(request, shown))


def _more(request: HttpRequest, shown: Node) -> dict[str, Any]:
    moment = now()
    match shown.metadata.type:
        case kinds.BLOG:
            return {"listing": _listing(request, selectors.entries, shown.pk, moment)}
        case kinds.FOLDER:
            sections = tree.current()
            inside = [s for s in sections.children.get(shown.pk, ()) if s.is_live(moment)]
            return {
                "sections": [{"title": s.title, "url": sections.url(s.parent_id, s.slug)} for s in inside],
                "pages": selectors.pages_of(shown.pk, moment),
            }
        case kinds.ENTRY:
            older, newer = selectors.neighbours(shown, moment)
            return {"older": older, "newer": newer}
    return {}


def _listing(request: HttpRequest, select: Any, *arguments: Any) -> selectors.Listing:
    """Return the page of a list that the request asks for by ?from=CURSOR."""
    size = site_selectors.current().settings.posts_per_page
    try:
        return select(*arguments, size=size, cursor=request.GET.get("from") or None)
    except ValueError as error:
        raise Http404(_("There is no such page of this list.")) from error


def breadcrumbs(shown: Node) -> list[dict[str, str]]:
    """Return the sections above a node, from the top down, as {title, url}."""
    sections = tree.current()
    chain = sections.ancestors(shown.metadata.parent_id) or []
    return [{"title": s.title, "url": sections.url(s.parent_id, s.slug)} for s in chain]
