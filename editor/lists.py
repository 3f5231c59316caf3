"""The list of nodes: filters, search, pages by keyset, and a row's nonce beside each checkbox for what is done in bulk."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

from bson import ObjectId
from django import forms
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from editor import bulk_forms, declared
from editor.fields import FIRST_YEAR, LAST_YEAR
from editor.site import page
from marginalia.mongo.clock import now
from nodes import access, content
from nodes.access import TOP, section_choices
from nodes.collections import NODES
from nodes.content import facets
from nodes.models import stored_site, tree
from nodes.selectors import lists
from nodes.selectors.lists import ANY, Filters

STATES = {
    lists.LIVE: gettext_lazy("Live"),
    lists.SCHEDULED: gettext_lazy("Scheduled"),
    lists.UNPUBLISHED: gettext_lazy("Draft"),
    lists.EXPIRING: gettext_lazy("Expires within a week"),
    lists.EXPIRED: gettext_lazy("Expired"),
    lists.DRAFTED: gettext_lazy("Changes not published"),
    lists.DUE: gettext_lazy("Changes scheduled"),
}
# Of what would be live, but for its section: no list is filtered by it.
HIDDEN = ("hidden", gettext_lazy("in a hidden section"))
NO_ACCOUNT = "none"
# In an address, before the name of a field that the type's lists are filtered by.
FACET = "facet-"


def _date() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


# Days that begin and end in every time zone.
_TELLABLE = [MinValueValidator(date(FIRST_YEAR, 1, 1)), MaxValueValidator(date(LAST_YEAR, 12, 31))]


class FilterForm(forms.Form):
    """What the list is narrowed to, in its address."""

    q = forms.CharField(label=gettext_lazy("Search"), required=False, max_length=200)
    section = forms.ChoiceField(label=gettext_lazy("Section"), required=False)
    type = forms.ChoiceField(label=gettext_lazy("Type"), required=False)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False)
    tag = forms.CharField(label=gettext_lazy("Tag"), required=False, max_length=100)
    author = forms.ChoiceField(label=gettext_lazy("Author"), required=False)
    since = forms.DateField(label=gettext_lazy("From"), required=False, widget=_date(), validators=_TELLABLE)
    until = forms.DateField(label=gettext_lazy("To"), required=False, widget=_date(), validators=_TELLABLE)

    def __init__(self, data: QueryDict, user: Any) -> None:
        super().__init__(data)
        every = [("", _("All"))]
        types = [(type.type_name, type.label) for type in content.types() if not type.is_file]
        choices = {"section": section_choices(user), "type": types, "state": list(STATES.items())}
        if access.sees_all(user):
            choices["author"] = authors()
        else:
            del self.fields["author"]
        for name, found in choices.items():
            self.fields[name].choices = [*every, *found]
        self.facets = {f"{FACET}{field.name}": field for field in facets.fields(data.get("type", ""))}
        for name, field in self.facets.items():
            self.fields[name] = _facet(field)
        self.fields["q"].widget = forms.TextInput(attrs={"type": "search"})
        self.fields["tag"].widget = forms.TextInput(attrs={"list": "tags-in-use"})

    def filters(self, user: Any) -> Filters:
        """Return the filters; those that say nothing that is known are left out. Who sees only his own is narrowed to it."""
        self.is_valid()
        said = {name: value for name, value in self.cleaned_data.items() if value}
        filters = Filters(
            section=ObjectId(said["section"]) if said.get("section", TOP) != TOP else None,
            type=said.get("type", ""),
            tag=said.get("tag", ""),
            state=said.get("state", ""),
            author=ObjectId(said["author"]) if said.get("author", NO_ACCOUNT) != NO_ACCOUNT else None,
            search=said.get("q", ""),
            facets=self._facets(said),
            since=_midnight(said["since"]) if "since" in said else None,
            until=_midnight(said["until"] + timedelta(days=1)) if "until" in said else None,
        )
        filters = replace(
            filters,
            section=filters.section if "section" in said else ANY,
            author=filters.author if "author" in said else ANY,
        )
        return filters if access.sees_all(user) else replace(filters, author=user.pk)

    def _facets(self, said: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the values that are wanted of the type's fields, as they are stored."""
        wanted = {field.name: said[name] for name, field in self.facets.items() if name in said}
        return tuple(facets.format_facet(said["type"], *one) for one in wanted.items()) if "type" in said else ()


def _facet(field: models.Field) -> forms.Field:
    """Return the filter by a field: one of its values, or what is typed."""
    labels = facets.labels(field)
    label = capfirst(field.verbose_name)
    if labels:
        return forms.ChoiceField(label=label, required=False, choices=[("", _("All")), *labels.items()])
    return forms.CharField(label=label, required=False, max_length=facets.LONGEST)


def _midnight(day: date) -> datetime:
    """Return when a day begins at the site."""
    return timezone.make_aware(datetime.combine(day, time.min))


def authors() -> list[tuple[str, str]]:
    """Return the accounts that may write, as choices."""
    staff = get_user_model()._default_manager.filter(is_staff=True).order_by("username")
    named = [(str(user.pk), user.get_full_name() or user.get_username()) for user in staff]
    return [*named, (NO_ACCOUNT, _("No account"))]


@require_http_methods(["GET", "HEAD", "POST"])
def changelist(request: HttpRequest) -> HttpResponse:
    """Show a page of the list; do in bulk what is posted."""
    user = request.user
    if not access.may_list(user):
        raise PermissionDenied
    if request.method == "POST":
        return bulk_forms.run(request)
    form = FilterForm(request.GET, user)
    moment = now()
    version = stored_site.current().version
    filters = form.filters(user)
    try:
        found = lists.page(filters, moment, cursor=request.GET.get("from", ""))
    except ValueError as error:
        raise Http404(_("There is no such page of this list.")) from error
    columns = [content.get(filters.type)._meta.get_field(name) for name in content.get(filters.type).list_display]
    context: dict[str, Any] = {
        "columns": [capfirst(field.verbose_name) for field in columns],
        "rows": [{**_row(row, moment), "values": _values(row, columns)} for row in found.rows],
        "older": address_of(request, found.older),
        "newer": address_of(request, found.newer),
        "total": total(filters, found, version, moment),
        "tags": lists.tags(version, author=ANY if access.sees_all(user) else user.pk),
        "bulk": bulk_forms.BulkForm(user),
    }
    return page(request, "list", _("Pages and posts"), filters=form, narrowed=bool(request.GET), **context)


def total(filters: Filters, found: lists.Page, version: ObjectId | None, moment: Any, collection: str = NODES) -> str:
    """Return how many there are, as far as it is worth counting."""
    if filters.search:
        return f"{len(found.rows)}" if len(found.rows) < lists.MOST_RESULTS else f"{lists.MOST_RESULTS}+"
    counted = lists.count(filters, version, moment.replace(second=0, microsecond=0), collection)
    return f"{lists.COUNTED:,}+" if counted > lists.COUNTED and filters != Filters() else f"{counted:,}"


def _row(row: lists.Row, moment: Any) -> dict[str, Any]:
    metadata = row.node.metadata
    sections_now = tree.current()
    chain = sections_now.ancestors(metadata.parent_id)
    hidden = chain is None or not all(section.is_live(moment) for section in chain)
    return {
        "node": row.node,
        "nonce": metadata.nonce,
        "type": row.node.type_label,
        "sections": " › ".join(section.title for section in chain or ()),
        "state": state_of(row.node, moment),
        "hidden": hidden,
        "has_draft": row.has_draft,
        "due": row.due,
    }


def _values(row: lists.Row, columns: list[models.Field]) -> list[str]:
    """Return what a row says in the columns of its type."""
    detail = row.node.metadata.detail
    return [declared.display(field, getattr(detail, field.attname, None)) for field in columns]


def state_of(node: Any, moment: Any) -> tuple[str, Any]:
    """Return the state of a node: its name and how it is called."""
    if node.metadata.published is None:
        name = lists.UNPUBLISHED
    elif node.metadata.published > moment:
        name = lists.SCHEDULED
    elif node.metadata.expires <= moment:
        name = lists.EXPIRED
    elif not tree.current().is_live(node.metadata.parent_id, moment):
        return HIDDEN
    else:
        name = lists.LIVE
    return name, STATES[name]


def address_of(request: HttpRequest, cursor: str) -> str:
    """Return the address of the request's list from a cursor on; "" where there is none."""
    if not cursor:
        return ""
    query = request.GET.copy()
    query["from"] = cursor
    return f"?{query.urlencode()}"
