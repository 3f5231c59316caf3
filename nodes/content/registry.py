"""The content types of the installed apps, keyed by name. Apps register their types in a `content` module."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from django.utils.translation import gettext as _

from nodes.content.base import NEWEST, UPCOMING, Content, Missing

T = TypeVar("T", bound=type[Content])

# The type of GridFS documents that contain a photo's current or previous file, or a file that is being uploaded. These
# documents aren't nodes.
CONTENT = "photo-content"
# The section type that also applies to the top level.
TOP_LEVEL = "folder"

_types: dict[str, type[Content]] = {}
# Classes whose `type_name` had already been registered for another class. A system check reports them.
_duplicates: list[type[Content]] = []


def register(type: T) -> T:
    """Register a content type. Use this function as a class decorator.

    If two types have the same name, only the first is registered, and `manage.py check` reports the second.
    """
    registered = _types.setdefault(type.type_name, type)
    if registered is not type:
        _duplicates.append(type)
    _clear_caches()
    return type


def unregister(type: type[Content]) -> None:
    """Remove a content type from the registry, as if its app weren't installed."""
    if _types.get(type.type_name) is type:
        del _types[type.type_name]
    if type in _duplicates:
        _duplicates.remove(type)
    _clear_caches()


def get(name: str) -> type[Content]:
    """Return the type `name`, or Missing if no installed app declares it."""
    return _types.get(name, Missing)


def label(name: str) -> str:
    """Return the label of the type `name`. If the type isn't installed, the label contains its name."""
    return str(get(name).label) if name in _types else _("%(name)s (not installed)") % {"name": name}


def types() -> tuple[type[Content], ...]:
    """Return all types. The built-in types come first."""
    return tuple(_types.values())


def types_to_write() -> tuple[type[Content], ...]:
    """Return the types of nodes that people write, in the order in which forms offer them.

    People write posts more often than pages, and pages more often than sections. Folders come last.
    """
    written = (type for type in types() if not type.is_file)
    return tuple(sorted(written, key=lambda type: (type.is_section, not type.is_dated, type.type_name == TOP_LEVEL)))


def duplicates() -> tuple[type[Content], ...]:
    """Return the classes that were registered under the name of another type."""
    return tuple(_duplicates)


@cache
def names(accept: Callable[[type[Content]], bool] | None = None) -> tuple[str, ...]:
    """Return the names of all types, or of the types for which `accept` returns True.

    Results are cached for each `accept` function, so pass a module-level function, not a lambda.
    """
    return tuple(name for name, type in _types.items() if accept is None or accept(type))


@cache
def may_hold(parent_type: str | None, child_type: str) -> bool:
    """Return whether a node of `parent_type` (or the top level, for None) can contain a node of `child_type`."""
    child = get(child_type)
    if parent_type is None and child.is_file:
        # Photos without a gallery are in the library, which readers don't see.
        return True
    parent = get(parent_type or TOP_LEVEL)
    return parent.is_section and child.may_stand_in(parent)


def sections() -> tuple[str, ...]:
    """Return the names of the types that can contain other nodes."""
    return names(_is_section)


def pages() -> tuple[str, ...]:
    """Return the names of the types of single pages: types that aren't sections, dated types or files."""
    return names(_is_page)


def dated() -> tuple[str, ...]:
    """Return the names of the types that are listed by date, excluding files."""
    return names(_is_dated)


def authors() -> tuple[str, ...]:
    """Return the names of the types whose pages describe an author."""
    return names(_is_of_author)


def non_sections() -> tuple[str, ...]:
    """Return the names of all types, including file types, that can't contain other nodes."""
    return names(_is_not_section)


@cache
def extensions(type: str) -> tuple[str, ...]:
    """Return the names of `type` and of the types that extend it."""
    return tuple(name for name, other in _types.items() if issubclass(other, get(type)))


@cache
def listed_by_facets(section_type: str) -> tuple[type[Content], ...]:
    """Return the types whose nodes can be filtered by facets in sections of `section_type`.

    Only sections that list nodes by date have such filters. The section type determines whether this date is the
    publication date or the value of the `date_field` of the node's type.
    """
    if get(section_type).lists == UPCOMING:
        return tuple(type for type in listed_by_own_date(section_type) if type.facets)
    if get(section_type).lists != NEWEST:
        return ()
    faceted = (type for type in types() if type.facets and _is_dated(type))
    return tuple(type for type in faceted if may_hold(section_type, type.type_name))


@cache
def listed_by_own_date(section_type: str) -> tuple[type[Content], ...]:
    """Return the types whose nodes are sorted by the type's own `date_field` in sections of `section_type`."""
    if get(section_type).lists != UPCOMING:
        return ()
    return tuple(type for type in types() if type.date_field and may_hold(section_type, type.type_name))


@cache
def facet_names() -> frozenset[str]:
    """Return the names of the facets of all types."""
    return frozenset(name for type in types() for name in type.facets)


@cache
def routed() -> tuple[type[Content], ...]:
    """Return the types with routes."""
    return tuple(type for type in types() if type.declared_routes)


@cache
def route_parameters() -> frozenset[str]:
    """Return the names of the query parameters that the routes of all types read."""
    return frozenset(name for type in routed() for route in type.declared_routes for name in route.parameters)


def uploaded() -> tuple[str, ...]:
    """Return the names of the types that are uploaded: photos and files."""
    return names(_is_uploaded)


def _is_section(type: type[Content]) -> bool:
    return type.is_section


def _is_page(type: type[Content]) -> bool:
    return not (type.is_section or type.is_dated or type.is_file)


def _is_dated(type: type[Content]) -> bool:
    return type.is_dated and not type.is_file


def _is_uploaded(type: type[Content]) -> bool:
    return type.is_file


def _is_of_author(type: type[Content]) -> bool:
    return type.is_of_author


def _is_not_section(type: type[Content]) -> bool:
    return not type.is_section


def _clear_caches() -> None:
    for cached in (
        names,
        may_hold,
        extensions,
        listed_by_facets,
        listed_by_own_date,
        facet_names,
        routed,
        route_parameters,
    ):
        cached.cache_clear()
