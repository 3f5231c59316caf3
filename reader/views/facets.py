"""Filter lists by facets: parse the filter in a query string, and generate links that add or remove a value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode

from django.db import models
from django.http import QueryDict
from django.utils.text import capfirst

from nodes.content import Content, facets, registry
from nodes.models import Node
from reader.selectors import faceted_lists


@dataclass(frozen=True)
class Choice:
    """A value of a facet.

    Attributes:
        url: The URL that adds this value to the filter or, if the value `is_chosen`, removes it.
    """

    label: str
    count: int
    url: str
    is_chosen: bool


@dataclass(frozen=True)
class Group:
    """A facet, with the values by which readers can filter."""

    label: str
    choices: Sequence[Choice]


@dataclass(frozen=True)
class FacetFilter:
    """A filter for a section's list.

    Attributes:
        type: The content type that has all facets in `wanted`.
        wanted: Sorted (facet name, value) pairs.
    """

    section: Node
    types: Sequence[type[Content]]
    type: type[Content] | None
    wanted: Sequence[tuple[str, str]]
    moment: datetime
    # Whether at least one node has all wanted values.
    is_matched: bool = True

    @property
    def query(self) -> str:
        """Return the filter as a normalized query string, such as "course=dessert&is_vegan=true"."""
        return urlencode(self.wanted)

    @property
    def words(self) -> str:
        """Return the labels of the wanted values, for use in titles."""
        fields = {field.name: field for field in facets.fields(self.type.type_name)} if self.type else {}
        return " · ".join(_label(facets.labels(fields[name]), value) for name, value in self.wanted if name in fields)

    @cached_property
    def groups(self) -> list[Group]:
        """Return the values by which readers can filter, including the chosen values.

        Return [] if there are more wanted values than any node can have, because every link would contain all of them.
        """
        if len(self.wanted) > facets.MOST:
            return []
        types = self.types if not self.wanted else [self.type] if self.type else []
        return [group for type in types for group in self._groups(type.type_name)]

    def _shown_fields(self, type: str) -> list[models.Field]:
        """Return the facet fields of a type, except those that are already shown for a type that it extends."""
        names = [] if self.wanted else [other.type_name for other in self.types if other.type_name != type]
        return [field for field in facets.fields(type) if facets.owner(type, field.name) not in names]

    def _groups(self, type: str) -> Iterator[Group]:
        fields = self._shown_fields(type)
        if not fields:
            return
        # If a filter has no matches, values aren't counted, because counts are cached and there is no limit to the
        # number of such filters.
        all_counts = (
            faceted_lists.count_values(self.section.pk, type, self.wanted, self.moment) if self.is_matched else {}
        )
        for field in fields:
            counts = all_counts.get(field.name, {})
            labels = facets.labels(field)
            chosen = [value for name, value in self.wanted if name == field.name]
            values = list(dict.fromkeys((*chosen, *counts)))
            order = {value: position for position, value in enumerate(labels)}
            values.sort(key=lambda value: (order.get(value, len(order)), -counts.get(value, 0), value))
            if values:
                choices = [
                    self._choice(field.name, value, _label(labels, value), counts.get(value, 0)) for value in values
                ]
                yield Group(capfirst(str(field.verbose_name)), choices)

    def _choice(self, name: str, value: str, label: str, count: int) -> Choice:
        others = [wanted for wanted in self.wanted if wanted != (name, value)]
        is_chosen = len(others) < len(self.wanted)
        query = urlencode(sorted(others if is_chosen else [*others, (name, value)]))
        url = self.section.get_absolute_url()
        return Choice(label, count, f"{url}?{query}" if query else url, is_chosen)


def parse_filter(query: QueryDict, section: Node, moment: datetime) -> FacetFilter:
    """Parse the filter in the query string of a section's page.

    Parameters that aren't facets of the section's content types are ignored.
    """
    types = registry.listed_by_facets(section.metadata.type)
    names = {name for type in types for name in type.facets}
    values = ((name, facets.normalize(value)) for name in names for value in query.getlist(name))
    wanted = sorted({(name, value) for name, value in values if value})
    # If two types have a facet with the same name, the first type is used.
    matching_types = (type for type in types if {name for name, _value in wanted} <= set(type.facets))
    return FacetFilter(section, types, next(matching_types, None), wanted, moment)


def _label(labels: dict[str, str], value: str) -> str:
    return labels.get(value, value)
