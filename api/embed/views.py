"""The separate page of an embedded discussion, for readers without JavaScript."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from api.embed import pages
from api.embed.pages import InvalidAddress, PageAddress
from marginalia.comments.views import page, personal


@require_http_methods(["GET", "HEAD", "POST"])
def discussion(request: HttpRequest) -> HttpResponse:
    """Redirect to the discussion of the page in ?page=. If there is none, offer to write the first comment.

    A POST request stores the page, and redirects to the comment form.
    """
    try:
        address = PageAddress.parse(request.GET.get("page", ""))
    except InvalidAddress as error:
        raise Http404(str(error)) from error
    args = [address.target.label, address.pk]
    title = request.GET.get("title", "")
    if request.method == "POST":
        pages.get_or_create(address, title)
        return HttpResponseRedirect(reverse("comments-form", args=args))
    if pages.find(address):
        return HttpResponseRedirect(reverse("comments-discussion", args=args))
    return personal(page(request, None, "embedded", {"obj": pages.unsaved(address, title)}))
