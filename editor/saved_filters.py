"""The page with the filters of a list that a user has saved. The list's script shows them with the other filters."""

from urllib.parse import parse_qsl, urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from editor.site import render_page
from nodes import access
from nodes.content import FILE, PHOTO
from nodes.errors import NodeError
from nodes.selectors import saved_filters as selectors
from nodes.services import saved_filters

NODE = "node"
LISTS = {NODE: gettext_lazy("Pages"), PHOTO: gettext_lazy("Photos"), FILE: gettext_lazy("Files")}
# Parameters of a list's URL that aren't filters.
_NO_FILTERS = frozenset({"from", "layout"})
# In characters.
LONGEST_QUERY = 2_000


class NameForm(forms.Form):
    """The form for the name under which filters are saved."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=60)


@require_http_methods(["GET", "HEAD", "POST"])
def saved(request: HttpRequest) -> HttpResponse:
    """Show the saved filters of the list ?list=, and a form for saving the filters in ?query=. Save or delete filters.

    After saving or deleting, redirect to the list with these filters.
    """
    sent = request.POST if request.method == "POST" else request.GET
    type = sent.get("list", NODE)
    if type not in LISTS:
        raise Http404
    if not (access.may_list(request.user) if type == NODE else access.may_see_photos(request.user)):
        raise PermissionDenied
    query = _clean_query(sent.get("query", ""))
    form = NameForm(request.POST if "save" in request.POST else None)
    list_url = reverse(f"admin:nodes_{type}_changelist")
    if "delete" in request.POST:
        saved_filters.delete(request.user.pk, type, request.POST["delete"])
        messages.success(request, _("The saved filters were deleted."))
        return HttpResponseRedirect(f"{list_url}?{query}")
    if form.is_valid() and query:
        try:
            saved_filters.save(request.user.pk, type, form.cleaned_data["name"], query)
        except NodeError as error:
            form.add_error("name", str(error))
        else:
            messages.success(request, _("The filters were saved."))
            return HttpResponseRedirect(f"{list_url}?{query}")
    rows = [{"filters": one, "is_current": one.query == query} for one in selectors.of(request.user.pk, type)]
    return render_page(
        request, "saved_filters", _("Saved filters"), rows=rows, form=form, list=type, label=LISTS[type], query=query,
        list_url=list_url,
    )  # fmt: skip


def _clean_query(text: str) -> str:
    """Return a list's query string with only its filters, or "" if it is too long."""
    pairs = parse_qsl(text[: LONGEST_QUERY + 1])
    query = urlencode(sorted(pair for pair in pairs if pair[0] not in _NO_FILTERS))
    return query if len(query) <= LONGEST_QUERY else ""
