"""The list of redirects that editors have added: add, change, delete, and try out a URL."""

from typing import Any
from urllib.parse import unquote, urlencode

from bson import ObjectId
from django import forms
from django.contrib import messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from editor.fields import ReferenceInput, accept_long_input
from editor.site import render_page
from nodes import access
from nodes.actions import DeleteRedirect, SaveRedirect
from nodes.errors import FieldRefused, NodeError
from nodes.redirects import LONGEST, normalized
from nodes.selectors import manual_redirects
from nodes.selectors.manual_redirects import Redirect
from reader.views import redirects

# The number of redirects per page of the list.
SIZE = 100


class RedirectForm(forms.Form):
    """The form for a redirect. `seen` is the stored nonce when the form was rendered, or "" for a new redirect."""

    url = forms.CharField(
        label=gettext_lazy("Old URL"),
        widget=AdminTextInputWidget(attrs={"autocomplete": "off", "placeholder": "/old-page"}),
        help_text=gettext_lazy("A URL on this site that no longer has a page."),
    )
    target = forms.CharField(
        label=gettext_lazy("New URL"),
        widget=ReferenceInput(photos=False),
        help_text=gettext_lazy(
            "The URL of a page, which still works if the page moves, or a URL of another site that starts with https://."
        ),
    )
    seen = forms.RegexField("^[0-9a-f]{24}$", required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, stored: Redirect | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        accept_long_input(self.fields.values())
        if stored:
            self.fields["url"].widget.attrs["readonly"] = True
            self.fields["url"].help_text = ""
        else:
            self.fields["url"].widget.attrs["autofocus"] = True

    def make_action(self, user: Any) -> SaveRedirect:
        """Return the action that saves the form."""
        data = self.cleaned_data
        seen = ObjectId(data["seen"]) if data["seen"] else None
        return SaveRedirect(user=user, url=data["url"], target=data["target"], seen=seen)


@require_safe
def redirect_list(request: HttpRequest) -> HttpResponse:
    """List the redirects by URL, filtered by ?q=. For ?test=, show the responses that a visitor of this URL gets."""
    check_rights(request)
    query = request.GET.get("q", "").strip().lower()[:LONGEST]
    tested = request.GET.get("test", "").strip()[:LONGEST]
    page = manual_redirects.page(query, request.GET.get("after", ""), SIZE + 1)
    rows = [{"redirect": redirect, "target": _label(redirect), "change": change_url(redirect.url)} for redirect in page]
    return render_page(
        request,
        "redirects",
        _("Redirects"),
        rows=rows[:SIZE],
        query=query,
        total=manual_redirects.count(),
        next=f"?{urlencode({'q': query, 'after': page[SIZE - 1].url})}" if len(page) > SIZE else "",
        tested=tested,
        steps=redirects.follow(request, tested) if normalized(tested) else [],
    )


@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Add a redirect. ?url= fills in the old URL."""
    check_rights(request)
    form = RedirectForm(request.POST or None, initial={"url": request.GET.get("url", "")[:LONGEST]})
    return _save(request, form) or show_form(request, "redirect", _("Add redirect"), form=form)


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest) -> HttpResponse:
    """Change the redirect from ?url=."""
    check_rights(request)
    stored = _stored(request)
    initial = {"url": stored.url, "target": _label(stored), "seen": str(stored.nonce)}
    form = RedirectForm(request.POST or None, initial=initial, stored=stored)
    return _save(request, form) or show_form(request, "redirect", _("Change redirect"), form=form, stored=stored)


@require_POST
def delete(request: HttpRequest) -> HttpResponse:
    """Delete the redirect from ?url= if it still has the nonce `seen`."""
    check_rights(request)
    seen = request.POST.get("seen", "")
    if not ObjectId.is_valid(seen):
        raise Http404
    url = request.GET.get("url", "")
    try:
        DeleteRedirect(user=request.user, url=url, seen=ObjectId(seen)).execute()
    except NodeError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The redirect from “%(url)s” was deleted.") % {"url": url})
    return HttpResponseRedirect(reverse("admin:redirects"))


def change_url(url: str) -> str:
    """Return the URL of the form for a redirect."""
    return f"{reverse('admin:redirect_change')}?{urlencode({'url': url})}"


def show_form(request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    """Return a page with a form that belongs to the list of redirects."""
    context |= {"list_url": reverse("admin:redirects"), "list_title": _("Redirects")}
    return render_page(request, template, title, **context)


def check_rights(request: HttpRequest) -> None:
    """Raise PermissionDenied unless the user can manage redirects."""
    if not access.may_manage_redirects(request.user):
        raise PermissionDenied


def _stored(request: HttpRequest) -> Redirect:
    redirect = manual_redirects.get(request.GET.get("url", ""))
    if redirect is None:
        raise Http404(_("This redirect doesn't exist."))
    return redirect


def _save(request: HttpRequest, form: RedirectForm) -> HttpResponse | None:
    """Save a submitted form. Return None if there is none, or if it has errors."""
    if request.method != "POST" or not form.is_valid():
        return None
    try:
        form.make_action(request.user).execute()
    except FieldRefused as error:
        form.add_error(error.path, str(error))
        return None
    except NodeError as error:
        form.add_error(None, str(error))
        return None
    messages.success(request, _("The redirect was saved."))
    return HttpResponseRedirect(reverse("admin:redirects"))


def _label(redirect: Redirect) -> str:
    """Return the target as editors type it. If readers can't see the target page, return its id."""
    return unquote(manual_redirects.target_url(redirect.target)) or redirect.target
