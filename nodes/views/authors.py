"""Pages of authors: all that is signed with a name."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from mongo.clock import now
from nodes.models import tree
from nodes.selectors import authors
from nodes.views import pages


@require_safe
def author(request: HttpRequest, slug: str) -> HttpResponse:
    """List what is signed with a name, or lead on to the page that tells of the author."""
    sections, moment = tree.current(), now()
    if page := authors.pages(sections, moment).get(slug):
        # Not for ever: the name has a list of its own again when the page is gone.
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(page.get_absolute_url() + (f"?{query}" if query else ""))
    names = authors.names([slug], moment)
    context = pages.signed(request, [slug], moment)
    if not context["listing"].nodes and not context["photos"]:
        raise Http404(_("Nothing was published under this name."))
    return render(request, "nodes/byline.html", {"name": names[0], **context})
