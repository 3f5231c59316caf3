"""Lists narrowed by facets: what the query of an address asks for, and links that add or take away one value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.text import capfirst

from nodes.content import Content, facets, registry
from nodes.models import Node
from reader.selectors import facets as selectors


@dataclass(frozen=True)
class Choice:
    """A value of a facet: `url` leads to the list with it, or without it where it `is_chosen`."""

    label: str
    count: int
    url: str
    is_chosen: bool


@dataclass(frozen=True)
class Group:
    """The values of one facet that there are."""

    label: str
    choices: Sequence[Choice]


@dataclass(frozen=True)
class Narrowed:
    """A section's list and what it is narrowed to: (name of a facet, value) of each, sorted; `type` has all of these facets."""

    section: Node
    types: Sequence[type[Content]]
    type: type[Content] | None
    wanted: Sequence[tuple[str, str]]
    moment: datetime
    # Whether anything has all that is wanted.
    is_matched: bool = True

    @property
    def query(self) -> str:
        """What the list is narrowed to, spelled in one way: "course=dessert&is_vegan=true"."""
        return urlencode(self.wanted)

    @property
    def words(self) -> str:
        """What the list is narrowed to, for titles."""
        fields = {field.name: field for field in facets.fields(self.type.type_name)} if self.type else {}
        return " · ".join(_label(facets.labels(fields[name]), value) for name, value in self.wanted if name in fields)

    @cached_property
    def groups(self) -> list[Group]:
        """The values that narrow the list further, those that it is narrowed to among them. None where these are more than any
        page has: each link says all others."""
        if len(self.wanted) > facets.MOST:
            return []
        shown = self.types if not self.wanted else [self.type] if self.type else []
        return [group for one in shown for group in self._groups(one.type_name)]

    def _groups(self, type: str) -> Iterator[Group]:
        # Counts are kept: not those of what matches nothing, of which there is any number.
        counted = selectors.counts(self.section.pk, type, self.wanted, self.moment) if self.is_matched else {}
        for field in facets.fields(type):
            counts = counted.get(field.name, {})
            labels = facets.labels(field)
            chosen = [value for name, value in self.wanted if name == field.name]
            values = list(dict.fromkeys((*chosen, *counts)))
            order = {value: place for place, value in enumerate(labels)}
            values.sort(key=lambda value: (order.get(value, len(order)), -counts.get(value, 0), value))
            if values:
                choices = [self._choice(field.name, one, _label(labels, one), counts.get(one, 0)) for one in values]
                yield Group(capfirst(str(field.verbose_name)), choices)

    def _choice(self, name: str, value: str, label: str, count: int) -> Choice:
        one = (name, value)
        rest = [wanted for wanted in self.wanted if wanted != one]
        is_chosen = len(rest) < len(self.wanted)
        query = urlencode(sorted(rest if is_chosen else [*rest, one]))
        address = self.section.get_absolute_url()
        return Choice(label, count, f"{address}?{query}" if query else address, is_chosen)


def asked(query: QueryDict, section: Node, moment: datetime) -> Narrowed:
    """Return what the query of a section's page narrows its list to. What is no facet of what may stand in it is ignored."""
    types = registry.listed_by_facets(section.metadata.type)
    names = {name for one in types for name in one.facets}
    values = ((name, facets.normalize(value)) for name in names for value in query.getlist(name))
    wanted = sorted({(name, value) for name, value in values if value})
    # Of two types with a facet of one name the first has it.
    having_all = (one for one in types if {name for name, _value in wanted} <= set(one.facets))
    return Narrowed(section, types, next(having_all, None), wanted, moment)


def _label(labels: dict[str, str], value: str) -> str:
    return labels.get(value, value)
