"""Queries for the pages of a content type, by its declared fields.

Event.live.filter(starts__gte=now()).order_by("starts")[:10]
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Any, Generic, TypeVar, overload
from urllib.parse import quote, unquote

from bson import MinKey, ObjectId
from django.core.exceptions import FieldError, ValidationError
from django.db import models
from django.utils.duration import duration_string
from pymongo.collection import Collection

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from marginalia.mongo.doctor import WARNING, HotQuery
from nodes.collections import NODES, home_of, node_filter
from nodes.content import Content, facets, lookups, values
from nodes.content.lookups import NEWEST_FIRST, Condition, SortKey, id_of
from nodes.content.messages import invalid_value
from nodes.models import Node, tree
from nodes.models.dependencies import note_texts, on_lists
from nodes.selectors.listing import FIELDS, LISTED, for_readers, public_filter, readable_nodes, type_condition

T = TypeVar("T", bound=Content)
R = TypeVar("R")
# The sort values of the first or last document of a page.
Edge = tuple[Any, ...]

# Number of documents that the server returns at once if the query isn't sliced.
BATCH = 1_000


@dataclass(frozen=True)
class ContentPage(Generic[T]):
    """A page of results. `previous` and `next` are the cursors of the adjacent pages, or "" at the ends."""

    items: tuple[T, ...]
    previous: str = ""
    next: str = ""

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, eq=False)
class ContentQuery(Generic[T]):
    """A query for the pages of a content type. The results are instances of the type.

    The query is lazy and can be refined, like a Django QuerySet. Each evaluation sends one command to MongoDB, and its
    results are cached. If `order_by` isn't called, the newest pages come first.

    If a page was saved before a field was added, the field's value is missing in the database. `field=value` and `in`
    find such pages by the field's default value. Comparisons and the order don't know the default value.
    """

    type: type[T]
    _visible: Callable[[datetime], dict[str, Any]]
    is_public: bool
    _conditions: tuple[Condition, ...] = ()
    _order: tuple[str, ...] = NEWEST_FIRST
    _limit: int | None = None

    def all(self) -> "ContentQuery[T]":
        """Return the same query, without cached results."""
        return replace(self)

    def filter(self, **conditions: Any) -> "ContentQuery[T]":
        """Return the query for the pages that also match all these conditions, such as `starts__gte=moment`.

        Fields with a single value support exact, in, gt, gte, lt, lte, range and isnull. Lists support contains and
        isnull. To filter by a field of a part, write `venue__city="Bern"`.

        Raises:
            FieldError: The type has no such field, or the field doesn't support the lookup.
            ValidationError: The field doesn't accept a value.
        """
        return self._with(*(lookups.condition(self.type, name, value) for name, value in conditions.items()))

    def in_section(
        self, section: Node | Content | ObjectId | None, *, include_subsections: bool = False
    ) -> "ContentQuery[T]":
        """Return the query for the pages directly in `section`, which is a page or an id. None is the top level.

        If `include_subsections` is true, the query also returns the pages in all sections below.
        """
        section_id = id_of(section)
        if not isinstance(section_id, ObjectId | None):
            raise TypeError(f"{section!r} isn't a section.")
        ids = [section_id]
        if include_subsections:
            sections = tree.current()
            below = sections.sections.values() if section_id is None else sections.descendants(section_id)
            ids += [entry.id for entry in below]
        return self._with(Condition({"metadata.parent_id": {"$in": ids}}, "section"))

    def tagged(self, tag: str) -> "ContentQuery[T]":
        """Return the query for the pages that also have this tag.

        Raises:
            ValidationError: The tag isn't text.
        """
        if not isinstance(tag, str):
            raise ValidationError(invalid_value())
        return self._with(Condition({"metadata.tags": tag}, "tags"))

    def with_facets(self, **wanted: Any) -> "ContentQuery[T]":
        """Return the query for the pages that also have these values in fields that the type declares in `facets`.

        Values are converted like the values of the field, or are strings as in the URL of a section's list, such as
        "true". To require several values of a list field, pass a list.

        Raises:
            FieldError: A field isn't a facet of the type.
            ValidationError: The field doesn't accept a value.
        """
        conditions = []
        for name, value in wanted.items():
            if name not in self.type.facets:
                known = ", ".join(self.type.facets) or "none"
                raise FieldError(f"“{name}” isn't a facet of {self.type.__name__}. Facets: {known}.")
            field = self.type._meta.get_field(name)
            for item in value if isinstance(value, list | tuple) else [value]:
                text = facets.query_text(field, item)
                types = lookups.types_of(self.type)
                stored = sorted({facets.format_facet(type.type_name, name, text) for type in types})
                conditions.append(Condition({"derived.facets": type_condition(stored)}, "facets"))
        return self._with(*conditions)

    def order_by(self, *names: str) -> "ContentQuery[T]":
        """Return the query with its results sorted by these fields. "-starts" sorts in descending order.

        Pages without a value come first in ascending order, and last in descending order.

        Raises:
            FieldError: Results can't be sorted by one of the fields.
        """
        order = names or NEWEST_FIRST
        lookups.order(self.type, order)
        return replace(self._unsliced(), _order=order)

    def count(self) -> int:
        """Return the number of results."""
        if self._limit == 0:
            return 0
        limit: dict[str, Any] = {} if self._limit is None else {"limit": self._limit}
        return self._tracked(lambda: int(self._collection.count_documents(self._filter(now()), **limit)))

    def exists(self) -> bool:
        """Return whether there is at least one result."""
        return self._limit != 0 and self._tracked(
            lambda: self._collection.find_one(self._filter(now()), {"_id": 1}) is not None
        )

    def first(self) -> T | None:
        """Return the first result, or None if there isn't one."""
        return next(iter(self if self._limit is not None else self[:1]), None)

    def in_bulk(self, ids: Iterable[Any]) -> dict[ObjectId, T]:
        """Return the pages with these ids, keyed by id."""
        return {content.node.pk: content for content in self.filter(id__in=ids)}

    def page(self, cursor: str = "", *, size: int = 20) -> ContentPage[T]:
        """Return up to `size` results. Later pages load as fast as the first page.

        Args:
            cursor: The cursor of another page, usually from the URL, or "" for the first page.
            size: The maximum number of results.

        Raises:
            ValueError: The cursor is invalid.
        """
        self._unsliced()
        keys = lookups.order(self.type, self._order)
        backwards, edge = _parse(cursor, keys) if cursor else (False, None)
        documents = self._find(size + 1, keys, edge, backwards)
        has_more = len(documents) > size
        documents = documents[:size]
        if backwards:
            documents.reverse()
        if not documents:
            return ContentPage(())
        has_previous, has_next = (has_more, True) if backwards else (edge is not None, has_more)
        return ContentPage(
            tuple(self._read(documents)),
            _cursor("<", keys, documents[0]) if has_previous else "",
            _cursor(">", keys, documents[-1]) if has_next else "",
        )

    def as_hot_query(self, name: str) -> HotQuery:
        """Return this query for use in HOT_QUERIES in a `doctor` module, so that `manage.py doctor` checks its index.

        Args:
            name: The name of the query in findings, such as "the upcoming events".
        """
        keys = lookups.order(self.type, self._order)
        types = type_condition([type.type_name for type in lookups.types_of(self.type)])
        fix = f"Add {self._index()!r} to `indexes` of {self.type.__name__}, and run manage.py setup_indexes."

        def find(_document: Document) -> dict[str, Any]:
            limit = {} if self._limit is None else {"limit": self._limit}
            return {"filter": self._filter(now(), keys), "sort": _sort(keys), **limit}

        return HotQuery(name, self._home, find, {"metadata.type": types}, level=WARNING, fix=fix)

    def __iter__(self) -> Iterator[T]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, key: int) -> T: ...

    @overload
    def __getitem__(self, key: slice) -> "ContentQuery[T]": ...

    def __getitem__(self, key: int | slice) -> "T | ContentQuery[T]":
        if isinstance(key, slice):
            if key.start or key.step or (key.stop is not None and key.stop < 0):
                raise ValueError("Slices must begin at 0. Use page() for later results.")
            limits = [limit for limit in (self._limit, key.stop) if limit is not None]
            return replace(self, _limit=min(limits, default=None))
        if key < 0:
            raise ValueError("Negative indexes aren't supported. Reverse the order instead.")
        return (self if "_results" in vars(self) else self[: key + 1])._results[key]

    @cached_property
    def _results(self) -> list[T]:
        if self._limit == 0:
            return []
        return list(self._read(self._find(self._limit, lookups.order(self.type, self._order))))

    @property
    def _home(self) -> str:
        return home_of(lookups.types_of(self.type)[0].type_name)

    @property
    def _collection(self) -> Collection[Document]:
        return database()[self._home]

    def _tracked(self, read: Callable[[], R]) -> R:
        """Return the result of `read`. If the query depends on a user, responses that show the result aren't cached."""
        return on_lists(read)() if self.is_public else read()

    def _find(
        self, limit: int | None, keys: Sequence[SortKey], edge: Edge | None = None, backwards: bool = False
    ) -> list[Document]:
        """Return the stored documents, in order of `keys`. With an `edge`, return the documents beyond it."""
        if not all(type.date_field for type in lookups.types_of(self.type)):
            # If a type has no date field, saving its text doesn't update the `lists` version (nodes.services.scope).
            # The results then depend on all saves.
            note_texts()
        moment = now()
        condition = self._filter(moment, keys)
        if edge:
            condition["$and"].append(_beyond(keys, edge, backwards))
        fields = for_readers({**LISTED, "metadata.detail": 1}, moment) if self._home == NODES else FIELDS[self._home]

        def read() -> list[Document]:
            cursor = self._collection.find(condition, fields).sort(list(_sort(keys, backwards).items()))
            return list(cursor.limit(limit or 0).batch_size(limit or BATCH))

        return self._tracked(read)

    def _read(self, documents: Iterable[Document]) -> Iterator[T]:
        for node in readable_nodes(self._home, documents):
            # A document that can't be upgraded to the current version of its type isn't public.
            if node.content_type.is_installed:
                yield node.metadata.detail

    def _filter(self, moment: datetime, keys: Sequence[SortKey] = ()) -> dict[str, Any]:
        """Return the filter of this query, extended so that an index can be used in full for the order `keys`."""
        types = type_condition([type.type_name for type in lookups.types_of(self.type)])
        condition = {"metadata.type": types, **node_filter(self._home), **self._visible(moment)}
        wanted = [condition.filter for condition in self._conditions]
        # All values match this condition. Without a condition on its first field, an index for the order would be used
        # only for sorting, so the server would read hidden pages.
        wanted += [{key.path: {"$gte": MinKey()}} for key in keys[:1]]
        return {**condition, "$and": wanted} if wanted else condition

    def _index(self) -> list[str]:
        """Return the names in the index that this query needs: exact conditions first, then the order, then ranges."""
        exact = [condition.name for condition in self._conditions if condition.is_exact]
        ranges = [condition.name for condition in self._conditions if not condition.is_exact]
        index: list[str] = []
        for name in (*exact, *self._order, *ranges):
            if name.removeprefix("-") in {known.removeprefix("-") for known in index}:
                continue
            # Leave out fields that the index can't contain, such as a second list.
            with suppress(FieldError):
                lookups.index_keys(self.type, [*index, name])
                index.append(name)
        return index

    def _with(self, *conditions: Condition) -> "ContentQuery[T]":
        return replace(self._unsliced(), _conditions=(*self._conditions, *conditions))

    def _unsliced(self) -> "ContentQuery[T]":
        if self._limit is not None:
            raise TypeError("A query can't be changed after it has been sliced.")
        return self


def live(type: type[T]) -> ContentQuery[T]:
    """Return the query for the public pages of `type`, by the same rule as all public lists."""
    return ContentQuery(type, lambda moment: public_filter(tree.current(), moment), is_public=True)


def _sort(keys: Sequence[SortKey], backwards: bool = False) -> dict[str, int]:
    return {key.path: -key.direction if backwards else key.direction for key in keys}


def _beyond(keys: Sequence[SortKey], edge: Edge, backwards: bool) -> dict[str, Any]:
    """Return the filter for the documents that come after `edge`, or before it if `backwards` is true."""
    conditions: list[dict[str, Any]] = []
    same: dict[str, Any] = {}
    for key, value in zip(keys, edge, strict=True):
        if (key.direction > 0) is not backwards:
            conditions.append({**same, key.path: {"$ne": None} if value is None else {"$gt": value}})
        elif value is not None:
            # In descending order, missing values come after all other values, so the second condition matches them.
            conditions += [{**same, key.path: {"$lt": value}}, {**same, key.path: None}]
        same[key.path] = value
    return {"$or": conditions}


def _cursor(side: str, keys: Sequence[SortKey], document: Document) -> str:
    """Return the cursor for the page before (<) or after (>) a document. It contains the document's sort values."""
    parts = [quote(_text(key.field, _value(document, key.path)), safe="") for key in keys]
    return urlsafe_b64encode(",".join([side, *parts]).encode()).decode().rstrip("=")


def _parse(cursor: str, keys: Sequence[SortKey]) -> tuple[bool, Edge]:
    """Return whether a cursor leads backwards, and the sort values of the document at its edge.

    Raises:
        ValueError: The cursor is invalid.
    """
    side, *parts = urlsafe_b64decode(cursor.encode() + b"==").decode().split(",")
    if side not in ("<", ">") or len(parts) != len(keys):
        raise ValueError(cursor)
    try:
        edge = tuple(_parsed(key.field, unquote(part)) for key, part in zip(keys, parts, strict=True))
    except ValidationError as error:
        raise ValueError(cursor) from error
    if edge[-1] is None:
        raise ValueError(cursor)  # The last key is the id, which no document lacks.
    return side == "<", edge


def _text(field: models.Field, stored: Any) -> str:
    """Return "=" and a stored value, converted to text that the field accepts. For a missing value, return ""."""
    value = values.from_stored(field, stored)
    if value is None:
        return ""
    if isinstance(value, date | time):
        return f"={value.isoformat()}"
    return f"={duration_string(value) if isinstance(value, timedelta) else value}"


def _parsed(field: models.Field, text: str) -> Any:
    return values.queried(field, text[1:]) if text else None


def _value(document: Mapping[str, Any], path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
