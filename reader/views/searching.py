"""The search page, and suggestions while a reader types."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from marginalia.mongo.clock import now
from nodes.content import registry
from nodes.models import tree
from nodes.selectors import search
from nodes.selectors.search import Filters, Results
from photos import pictures
from reader.selectors import suggestions

RESULTS = 10
# Maximum number of choices per filter.
MAX_CHOICES = 10


@dataclass(frozen=True)
class Choice:
    """A value of a filter. `count` is the number of results with this value, or 0 if it isn't known."""

    label: str | Promise
    url: str
    count: int
    is_chosen: bool


@dataclass(frozen=True)
class Group:
    """The values of a filter."""

    label: str
    choices: tuple[Choice, ...]


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """Search the site for ?q=, and show page ?page= of the results. ?type=, ?section= and ?year= are filters."""
    query = request.GET.get("q", "").replace("\x00", "").strip()[: search.LONGEST_QUERY]
    page = request.GET.get("page", "1")
    number = int(page) if page.isascii() and page.isdecimal() and len(page) < 4 else 0
    if not 1 <= number <= search.MOST // RESULTS:
        raise Http404(_("This page of results doesn't exist."))
    filters = _read_filters(request.GET)
    kept = {"q": query, **_parameters(filters)}
    zone = timezone.get_current_timezone()
    context: dict[str, Any] = {"query": query, "kept": urlencode(kept)}
    try:
        results = search.search(tree.current(), query, now(), page=number, size=RESULTS, filters=filters, zone=zone)
    except search.SearchTimeout:
        return render(request, "nodes/search.html", context | {"too_slow": True}, status=503)
    # If a later page is empty, redirect to the first page. Pages may have been removed since its results were shown.
    if number > 1 and results.total and not results.hits:
        return HttpResponseRedirect(f"{reverse('search')}?{context['kept']}")
    pictures.attach(hit.node for hit in results.hits)
    context |= {
        "results": results,
        "facets": {"groups": list(_groups(query, filters, results)), "wanted": filters != Filters()},
        "page": number,
        "previous": number - 1,
        "more": number + 1 if results.total > number * RESULTS else None,
    }
    return render(request, "nodes/search.html", context)


def _read_filters(given: Mapping[str, str]) -> Filters:
    """Return the filters in a query string. Invalid values are ignored."""
    section = given.get("section", "")
    year = given.get("year", "")
    entry = tree.current().child(None, section) if section else None
    return Filters(
        given.get("type", "") if given.get("type", "") in registry.names() else "",
        entry.id if entry and entry.is_live(now()) else None,
        int(year) if year.isascii() and year.isdecimal() and len(year) == 4 else None,
    )


def _parameters(filters: Filters) -> dict[str, str]:
    """Return the query parameters for filters."""
    sections = tree.current().sections
    section = sections[filters.section].slug if filters.section in sections else ""
    values = {"type": filters.type, "section": section, "year": str(filters.year or "")}
    return {name: value for name, value in values.items() if value}


def _groups(query: str, filters: Filters, results: Results) -> Iterator[Group]:
    """Yield the filters that are chosen, or by which the results differ."""
    counts = results.counts
    sections = tree.current().sections
    named: list[tuple[str, str, Mapping[Any, int], Callable[[Any], Any]]] = [
        (_("Type"), "type", counts.types, lambda type: registry.get(type).label),
        (_("Section"), "section", counts.sections, lambda id: sections[id].title if id in sections else ""),
        (_("Year"), "year", counts.years, str),
    ]
    for label, name, by_value, label_of in named:
        chosen = getattr(filters, name)
        values = [value for value in by_value if label_of(value)][:MAX_CHOICES]
        if chosen and chosen not in values:
            values.append(chosen)
        if chosen or len(values) > 1:
            choices = (
                _choice(
                    query, filters, name, value, label_of(value), 0 if results.is_cut_short else by_value.get(value, 0)
                )
                for value in values
            )
            yield Group(label, tuple(choices))


def _choice(
    query: str, filters: Filters, name: str, value: str | int | ObjectId, label: str | Promise, count: int
) -> Choice:
    """Return the choice of a value. If it is already chosen, its link removes the filter."""
    is_chosen = getattr(filters, name) == value
    other: Any = {name: Filters.__dataclass_fields__[name].default if is_chosen else value}
    parameters = {"q": query, **_parameters(replace(filters, **other))}
    return Choice(label, f"?{urlencode(parameters)}", count, is_chosen)


@require_safe
@cache_control(private=True, max_age=60)
def search_suggestions(request: HttpRequest) -> JsonResponse:
    """Return {"suggestions": […]} with the pages, tags and people that match the words in ?q=."""
    typed = request.GET.get("q", "")[: search.LONGEST_QUERY]
    kinds = {suggestions.PAGE: "", suggestions.TAG: _("Tag"), suggestions.PERSON: _("Author")}
    found = suggestions.suggest(tree.current(), typed, now())
    return JsonResponse({"suggestions": [asdict(each) | {"kind": kinds[each.kind]} for each in found]})
