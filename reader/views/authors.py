"""Pages of authors: all that is signed with a name."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.markup.text import slugify
from marginalia.mongo.clock import now
from nodes.models import tree
from reader.selectors import authors
from reader.views import pages


@require_safe
def author(request: HttpRequest, slug: str) -> HttpResponse:
    """List what is signed with a name, or lead on to the page that tells of the author."""
    sections = tree.current()
    moment = now()
    if page := authors.pages(sections, moment).get(slug):
        # Not for ever: the name has a list of its own again when the page is gone.
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(page.get_absolute_url() + (f"?{query}" if query else ""))
    context = pages.signed(request, [slug], moment)
    shown = (*context["listing"].nodes, *context["photos"])
    if not shown:
        return _as_written(request, slug)
    # As readers see it signed: a draft may spell the name in another way.
    name = min(one.metadata.author.name for one in shown)
    return render(request, "nodes/byline.html", {"name": name, **context})


def _as_written(request: HttpRequest, slug: str) -> HttpResponse:
    """Lead from another spelling of an address, "Jane-Doe", to the one that there may be; Http404 where it is that."""
    written = slugify(slug)
    if not written or written == slug:
        raise Http404(_("Nothing was published under this name."))
    return HttpResponseRedirect(reverse("author", args=[written]))
