"""The list of tags, and the form in which tags are described, renamed and merged."""

from typing import Any
from urllib.parse import urlencode

from bson import ObjectId
from django import forms
from django.contrib import messages
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from editor.site import render_page
from marginalia.markup.text import fold
from nodes import access
from nodes.actions import ChangeTag
from nodes.errors import FieldRefused, NodeError, TagChanged, TagExists
from nodes.models import stored_site
from nodes.selectors import stored_tags
from nodes.selectors.stored_tags import StoredTag
from nodes.tags import LONGEST, LONGEST_DESCRIPTION, normalized

# The number of tags per page of the list.
SIZE = 100


class TagForm(forms.Form):
    """The form for a tag. `seen` is the nonce that was stored when the form was rendered, or ""."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=LONGEST,
        widget=AdminTextInputWidget(attrs={"autocomplete": "off", "autofocus": True}),
        help_text=gettext_lazy("A new name changes the tag on all pages and photos. The old URL redirects."),
    )
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        max_length=LONGEST_DESCRIPTION,
        widget=AdminTextareaWidget(attrs={"rows": 4}),
        help_text=gettext_lazy("Shown on the tag's page, in search engines and in link previews."),
    )
    seen = forms.RegexField("^[0-9a-f]{24}$", required=False, widget=forms.HiddenInput)
    merges = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def clean_name(self) -> str:
        name = normalized(self.cleaned_data["name"])
        if not name:
            raise forms.ValidationError(_("Enter a tag with at least one letter or digit."))
        return name

    def clean_description(self) -> str:
        return " ".join(self.cleaned_data["description"].split())

    def make_action(self, user: Any, tag: str) -> ChangeTag:
        """Return the action that saves the form."""
        data = self.cleaned_data
        return ChangeTag(
            user=user,
            name=tag,
            new_name=data["name"],
            description=data["description"],
            seen=ObjectId(data["seen"]) if data["seen"] else None,
            merges=data["merges"],
        )


@require_safe
def tag_list(request: HttpRequest) -> HttpResponse:
    """List the tags in use by name, filtered by ?q=, and the tags that are being renamed."""
    _check_rights(request)
    query = request.GET.get("q", "").strip()[:LONGEST]
    counts = stored_tags.count_all(stored_site.current().version)
    stored = {tag.name: tag for tag in stored_tags.all_stored()}
    former: dict[str, list[str]] = {}
    for tag in stored.values():
        if tag.renamed_to:
            former.setdefault(tag.renamed_to, []).append(tag.name)
    names = {*counts, *(tag.name for tag in stored.values() if not tag.renamed_to)}
    matching = sorted((name for name in names if fold(query) in fold(name)), key=lambda name: (fold(name), name))
    page = Paginator(matching, SIZE).get_page(request.GET.get("page"))
    rows = [
        {
            "name": name,
            "count": counts.get(name, 0),
            "description": stored[name].description if name in stored else "",
            "former": former.get(name, ()),
            "url": change_url(name),
        }
        for name in page
    ]
    renaming = [_progress(tag, counts) for tag in stored.values() if tag.is_renaming]
    links: dict[str, Any] = {
        "previous": _page_url(query, page.previous_page_number()) if page.has_previous() else "",
        "next": _page_url(query, page.next_page_number()) if page.has_next() else "",
    }
    total = page.paginator.count
    return render_page(request, "tags", _("Tags"), rows=rows, total=total, query=query, renaming=renaming, **links)


def _page_url(query: str, number: int) -> str:
    return f"?{urlencode({'q': query, 'page': number})}"


def _progress(tag: StoredTag, counts: Any) -> dict[str, Any]:
    done = max(tag.pages - counts.get(tag.name, 0), 0)
    return {"tag": tag, "done": min(done, tag.pages), "total": max(tag.pages, 1)}


def change_url(name: str) -> str:
    """Return the URL of the form for a tag."""
    return f"{reverse('admin:tag_change')}?{urlencode({'tag': name})}"


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest) -> HttpResponse:
    """Show the form for ?tag=, and save it. If the new name is already a tag, ask before the tags are merged."""
    _check_rights(request)
    name = request.GET.get("tag", "")
    stored = stored_tags.get(name)
    pages = stored_tags.count(name)
    if not pages and (stored.nonce is None or stored.renamed_to):
        raise Http404(_("There is no tag “%(tag)s”.") % {"tag": name[:LONGEST]})
    if request.method == "POST":
        form = TagForm(request.POST)
        if form.is_valid():
            try:
                return _saved(request, name, form.make_action(request.user, name).execute())
            except TagExists as error:
                return _ask(request, form, name, error)
            except FieldRefused as error:
                form.add_error("description" if error.path == "description" else "name", str(error))
            except TagChanged:
                _show_change(form, name)
            except NodeError as error:
                form.add_error(None, str(error))
    else:
        form = TagForm(initial={"name": name, "description": stored.description, "seen": stored.nonce or ""})
    return _show_form(request, "tag", _("Tag “%(tag)s”") % {"tag": name}, form=form, tag=name, pages=pages)


def _show_change(form: TagForm, name: str) -> None:
    """Show what someone else has stored. If the form is saved again, it replaces their description."""
    stored = stored_tags.get(name)
    reason = _("Another editor has changed this to “%(value)s”. Save again to replace it.")
    form.add_error("description", reason % {"value": stored.description})
    form.data = form.data.copy()
    form.data["seen"] = str(stored.nonce or "")


def _saved(request: HttpRequest, name: str, is_complete: bool) -> HttpResponse:
    if is_complete:
        messages.success(request, _("The tag was saved."))
    else:
        message = _("“%(tag)s” is being renamed in the background. The list shows the progress.")
        messages.info(request, message % {"tag": name})
    return HttpResponseRedirect(reverse("admin:tags"))


def _ask(request: HttpRequest, form: TagForm, name: str, error: TagExists) -> HttpResponse:
    """Return the page that asks whether to merge the tag with an existing tag."""
    title = _("Merge “%(tag)s” into “%(other)s”?") % {"tag": name, "other": error.tag}
    form.data = form.data.copy()
    form.data["merges"] = "on"
    return _show_form(
        request,
        "tag_merge",
        title,
        submit_label=_("Merge tags"),
        form=form,
        tag=name,
        other=error.tag,
        pages=error.pages,
        loses_description=form.cleaned_data["description"] and stored_tags.get(error.tag).description,
    )


def _show_form(request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    context |= {"list_url": reverse("admin:tags"), "list_title": _("Tags")}
    return render_page(request, template, title, **context)


def _check_rights(request: HttpRequest) -> None:
    if not access.may_manage_tags(request.user):
        raise PermissionDenied
