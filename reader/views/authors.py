"""Author pages, which list the posts and photos credited to a name."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.markup.text import slugify
from marginalia.mongo.clock import now
from nodes.models import tree
from reader.selectors import bylines
from reader.views import pages


@require_safe
def author(request: HttpRequest, slug: str) -> HttpResponse:
    """List the posts and photos credited to a name, or redirect to the page about the author."""
    sections = tree.current()
    moment = now()
    if page := bylines.pages(sections, moment).get(slug):
        # The redirect is temporary, because the list is shown again if the page about the author is deleted.
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(page.get_absolute_url() + (f"?{query}" if query else ""))
    context = pages.byline_context(request, [slug], moment)
    nodes = (*context["listing"].nodes, *context["photos"])
    if not nodes:
        return _redirect_to_normal_slug(slug)
    # The name comes from public nodes, because drafts can contain a different spelling of the name.
    name = min(node.metadata.author.name for node in nodes)
    return render(request, "nodes/byline.html", {"name": name, **context})


def _redirect_to_normal_slug(slug: str) -> HttpResponse:
    """Redirect from a variant of a slug, such as "Jane-Doe", to the normalized slug.

    Raises:
        Http404: The slug is already normalized, so nothing is published under this name.
    """
    normal = slugify(slug)
    if not normal or normal == slug:
        raise Http404(_("No pages are published under this name."))
    return HttpResponseRedirect(reverse("author", args=[normal]))
