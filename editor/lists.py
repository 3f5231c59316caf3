"""The list of nodes, with filters, search and keyset pagination.

Each row contains the node's nonce, which bulk actions need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

from editor import bulk_forms, declared, extensions
from editor.fields import DayInput
from editor.site import render_page
from marginalia.mongo.clock import now
from nodes import access, content
from nodes.access import TOP, section_choices
from nodes.collections import NODES
from nodes.content import facets
from nodes.models import stored_site, tree
from nodes.selectors import lists
from nodes.selectors.lists import ANY, Filters
from nodes.times import FIRST_YEAR, LAST_YEAR
from photos import pictures

STATES = {
    lists.LIVE: gettext_lazy("Live"),
    lists.SCHEDULED: gettext_lazy("Scheduled"),
    lists.UNPUBLISHED: gettext_lazy("Draft"),
    lists.EXPIRING: gettext_lazy("Expires within a week"),
    lists.EXPIRED: gettext_lazy("Expired"),
    lists.DRAFTED: gettext_lazy("Unpublished changes"),
    lists.DUE: gettext_lazy("Scheduled changes"),
}
# The state of a node that would be live if its section were live. Lists don't have a filter for this state.
HIDDEN = ("hidden", gettext_lazy("in a hidden section"))
NO_ACCOUNT = "none"
# The prefix of query parameters that filter by a field of the content type.
FACET = "facet-"


# Validators for days whose beginning and end can be represented in any time zone.
_REPRESENTABLE = [MinValueValidator(date(FIRST_YEAR, 1, 1)), MaxValueValidator(date(LAST_YEAR, 12, 31))]


class FilterForm(forms.Form):
    """The list's filters, as query parameters."""

    q = forms.CharField(label=gettext_lazy("Search"), required=False, max_length=200)
    section = forms.ChoiceField(label=gettext_lazy("Section"), required=False)
    type = forms.ChoiceField(label=gettext_lazy("Type"), required=False)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False)
    tag = forms.CharField(label=gettext_lazy("Tag"), required=False, max_length=100)
    author = forms.ChoiceField(label=gettext_lazy("Author"), required=False)
    since = forms.DateField(label=gettext_lazy("From"), required=False, widget=DayInput, validators=_REPRESENTABLE)
    until = forms.DateField(label=gettext_lazy("To"), required=False, widget=DayInput, validators=_REPRESENTABLE)

    def __init__(self, data: QueryDict, user: Any) -> None:
        super().__init__(data)
        all_choice = [("", _("All"))]
        types = [(type.type_name, type.label) for type in content.types() if not type.is_file]
        choices = {"section": section_choices(user), "type": types, "state": list(STATES.items())}
        if access.sees_all(user):
            choices["author"] = author_choices()
        else:
            del self.fields["author"]
        for name, field_choices in choices.items():
            self.fields[name].choices = [*all_choice, *field_choices]
        self.facets = {f"{FACET}{field.name}": field for field in facets.fields(data.get("type", ""))}
        for name, field in self.facets.items():
            self.fields[name] = _facet_field(field)
        self.fields["q"].widget = forms.TextInput(attrs={"type": "search", "placeholder": _("Search")})
        self.fields["tag"].widget = forms.TextInput(attrs={"list": "tags-in-use"})

    def filters(self, user: Any) -> Filters:
        """Return the filters, without unknown values.

        If users can see only their own pages, the filters include the user's id.
        """
        self.is_valid()
        data = {name: value for name, value in self.cleaned_data.items() if value}
        filters = Filters(
            section=ObjectId(data["section"]) if data.get("section", TOP) != TOP else None,
            type=data.get("type", ""),
            tag=data.get("tag", ""),
            state=data.get("state", ""),
            author=ObjectId(data["author"]) if data.get("author", NO_ACCOUNT) != NO_ACCOUNT else None,
            search=data.get("q", ""),
            facets=self._facets(data),
            since=_midnight(data["since"]) if "since" in data else None,
            until=_midnight(data["until"] + timedelta(days=1)) if "until" in data else None,
        )
        filters = replace(
            filters,
            section=filters.section if "section" in data else ANY,
            author=filters.author if "author" in data else ANY,
        )
        return filters if access.sees_all(user) else replace(filters, author=user.pk)

    def _facets(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the facet keys to filter by, in their stored form."""
        values = {field.name: data[name] for name, field in self.facets.items() if name in data}
        return tuple(facets.format_facet(data["type"], *value) for value in values.items()) if "type" in data else ()


def _facet_field(field: models.Field) -> forms.Field:
    """Return the form field for filtering by a declared field: a choice of the field's values, or a text input."""
    labels = facets.labels(field)
    label = capfirst(field.verbose_name)
    if labels:
        return forms.ChoiceField(label=label, required=False, choices=[("", _("All")), *labels.items()])
    return forms.CharField(label=label, required=False, max_length=facets.LONGEST)


def _midnight(day: date) -> datetime:
    """Return the beginning of a day in the site's time zone."""
    return timezone.make_aware(datetime.combine(day, time.min))


def author_choices() -> list[tuple[str, str]]:
    """Return the choices for the author filter: the staff accounts and "No account"."""
    staff = get_user_model()._default_manager.filter(is_staff=True).order_by("username")
    named = [(str(user.pk), user.get_full_name() or user.get_username()) for user in staff]
    return [*named, (NO_ACCOUNT, _("No account"))]


@require_http_methods(["GET", "HEAD", "POST"])
def changelist(request: HttpRequest) -> HttpResponse:
    """Show a page of the list. If a bulk action was submitted, perform it."""
    user = request.user
    if not access.may_list(user):
        raise PermissionDenied
    if request.method == "POST":
        return bulk_forms.run(request)
    form = FilterForm(request.GET, user)
    moment = now()
    version = stored_site.current().version
    filters = form.filters(user)
    own_columns = extensions.columns(bulk_forms.listed_type(filters.type), user)
    own_fields = [name for column in own_columns for name in column.fields]
    try:
        list_page = lists.page(filters, moment, cursor=request.GET.get("from", ""), columns=own_fields)
    except ValueError as error:
        raise Http404(_("This page of the list doesn't exist.")) from error
    pictures.attach(row.node for row in list_page.rows)
    columns = [content.get(filters.type)._meta.get_field(name) for name in content.get(filters.type).list_display]
    own_values = _own_values(own_columns, list_page.rows, user)
    rows = zip(list_page.rows, own_values, strict=True)
    context: dict[str, Any] = {
        "columns": [*(capfirst(field.verbose_name) for field in columns), *(column.label for column in own_columns)],
        "rows": [{**_row(row, moment), "values": [*_values(row, columns), *own]} for row, own in rows],
        "older": page_url(request, list_page.older),
        "newer": page_url(request, list_page.newer),
        "total": format_total(filters, list_page, version, moment),
        "chips": chips(request, form),
        "corrected": list_page.corrected,
        "tags": lists.tags(version, author=ANY if access.sees_all(user) else user.pk),
        "bulk": bulk_forms.BulkForm(user, type=filters.type),
        "has_tree": access.sees_all(user),
    }
    return render_page(request, "list", _("Pages and posts"), filters=form, **context)


@dataclass(frozen=True)
class Chip:
    """A filter that is in use. `url` is the list without this filter."""

    label: str
    value: str
    url: str


def chips(request: HttpRequest, form: forms.Form) -> list[Chip]:
    """Return a chip for each valid filter in the request's query."""
    found = []
    for bound in form:
        value = form.cleaned_data.get(bound.name)
        if value and bound.name != "layout":
            choices = dict(getattr(bound.field, "choices", ()))
            rest = request.GET.copy()
            for name in (bound.name, "from"):
                rest.pop(name, None)
            text = choices[value] if value in choices else declared.display_value(value)
            found.append(Chip(str(bound.label), str(text).strip(), f"?{rest.urlencode()}"))
    return found


def format_total(
    filters: Filters, list_page: lists.Page, version: ObjectId | None, moment: Any, collection: str = NODES
) -> str:
    """Return the number of matching nodes as text, or the counting limit followed by "+" if there are more."""
    if filters.search:
        return f"{len(list_page.rows)}" if len(list_page.rows) < lists.MOST_RESULTS else f"{lists.MOST_RESULTS}+"
    count = lists.count(filters, version, moment.replace(second=0, microsecond=0), collection)
    return f"{lists.COUNTED:,}+" if count > lists.COUNTED and filters != Filters() else f"{count:,}"


def _row(row: lists.Row, moment: Any) -> dict[str, Any]:
    metadata = row.node.metadata
    chain = tree.current().ancestors(metadata.parent_id)
    hidden = chain is None or not all(section.is_live(moment) for section in chain)
    return {
        "node": row.node,
        "nonce": metadata.nonce,
        "line": _line(row, " › ".join(section.title for section in chain or ())),
        "state": node_state(row.node, moment),
        "hidden": hidden,
        "has_draft": row.has_draft,
        "due": row.due,
    }


def _line(row: lists.Row, sections: str) -> list[str]:
    """Return the texts below a row's title, except for the date: type, sections, author and tags."""
    author = row.node.metadata.author
    texts = (str(row.node.type_label), sections, author.name if author else "", ", ".join(row.node.metadata.tags))
    return [text for text in texts if text]


def _values(row: lists.Row, columns: list[models.Field]) -> list[str]:
    """Return the values that a row shows in the columns that are specific to its type."""
    detail = row.node.metadata.detail
    return [declared.display(field, getattr(detail, field.attname, None)) for field in columns]


def _own_values(columns: Sequence[type[extensions.Column]], rows: Sequence[lists.Row], user: Any) -> list[list[str]]:
    """Return the values that each row shows in a project's columns."""
    nodes = [row.node for row in rows]
    by_column = []
    for column in columns:
        values = extensions.run(column, _column_texts, column, nodes, user)
        by_column.append([_("Error")] * len(nodes) if values is None else values)
    return [[values[number] for values in by_column] for number in range(len(nodes))]


def _column_texts(column: type[extensions.Column], nodes: Sequence[Any], user: Any) -> list[str]:
    values = column().values(nodes, user) if nodes else []
    return [declared.display_value(value) for _node, value in zip(nodes, values, strict=True)]


def node_state(node: Any, moment: Any) -> tuple[str, Any]:
    """Return a node's state as (name, label)."""
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


def page_url(request: HttpRequest, cursor: str) -> str:
    """Return the URL of the list page that begins at `cursor`, or "" if there is no cursor."""
    if not cursor:
        return ""
    query = request.GET.copy()
    query["from"] = cursor
    return f"?{query.urlencode()}"
