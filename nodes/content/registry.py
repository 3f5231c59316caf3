"""The content types of the installed apps, by name. Each app's `content` module registers its own, as admin.py does."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from django.utils.translation import gettext as _

from nodes.content.base import NEWEST, UPCOMING, Content, Missing

T = TypeVar("T", bound=type[Content])

# The type of files that are a photo's present, former or coming content: documents of GridFS, but no nodes.
CONTENT = "photo-content"
# The top level is like a section of this type.
TOP_LEVEL = "folder"

_types: dict[str, type[Content]] = {}
# Classes that came under a name that was taken: system checks name them.
_doubles: list[type[Content]] = []


def register(type: T) -> T:
    """Add a content type, as a decorator of its class. Of two with one name the first stays; `manage.py check` tells."""
    known = _types.setdefault(type.type_name, type)
    if known is not type:
        _doubles.append(type)
    _forget()
    return type


def unregister(type: type[Content]) -> None:
    """Take a content type away, as if its app was not installed."""
    if _types.get(type.type_name) is type:
        del _types[type.type_name]
    if type in _doubles:
        _doubles.remove(type)
    _forget()


def get(name: str) -> type[Content]:
    """Return the type of this name; Missing if no installed app declares one."""
    return _types.get(name, Missing)


def label(name: str) -> str:
    """Return what a type is called; of one that is not installed, its name."""
    return str(get(name).label) if name in _types else _("%(name)s (not installed)") % {"name": name}


def types() -> tuple[type[Content], ...]:
    """Return all types, those that come with the site first."""
    return tuple(_types.values())


def doubles() -> tuple[type[Content], ...]:
    """Return the classes that were registered under a name that another has."""
    return tuple(_doubles)


@cache
def names(accept: Callable[[type[Content]], bool] | None = None) -> tuple[str, ...]:
    """Return the names of all types, or of those that `accept` (a function of a module, as answers are kept)."""
    return tuple(name for name, type in _types.items() if accept is None or accept(type))


@cache
def may_hold(parent_type: str | None, child_type: str) -> bool:
    """Return whether a node of `child_type` may stand in one of `parent_type`; None is the top level."""
    parent = get(parent_type or TOP_LEVEL)
    child = get(child_type)
    return parent.is_section and child.may_stand_in(parent)


def sections() -> tuple[str, ...]:
    """Return the names of the types that others stand in."""
    return names(_is_section)


def pages() -> tuple[str, ...]:
    """Return the names of what stands by itself: no section, without a date."""
    return names(_is_page)


def dated() -> tuple[str, ...]:
    """Return the names of what is listed by date, files apart."""
    return names(_is_dated)


def authors() -> tuple[str, ...]:
    """Return the names of the types that tell of an author."""
    return names(_is_of_author)


def leaves() -> tuple[str, ...]:
    """Return the names of all that others cannot stand in, files too."""
    return names(_is_leaf)


@cache
def listed_by_facets(section_type: str) -> tuple[type[Content], ...]:
    """Return the types with facets that a section of this type may hold and lists by date, also by a date of their own."""
    if get(section_type).lists == UPCOMING:
        return tuple(type for type in listed_by_own_date(section_type) if type.facets)
    if get(section_type).lists != NEWEST:
        return ()
    faceted = (type for type in types() if type.facets and _is_dated(type))
    return tuple(type for type in faceted if may_hold(section_type, type.type_name))


@cache
def listed_by_own_date(section_type: str) -> tuple[type[Content], ...]:
    """Return the types that a section of this type may hold and lists by the date that they name."""
    if get(section_type).lists != UPCOMING:
        return ()
    return tuple(type for type in types() if type.date_field and may_hold(section_type, type.type_name))


@cache
def facet_names() -> frozenset[str]:
    """Return the names of the facets of all types."""
    return frozenset(name for type in types() for name in type.facets)


def _is_section(type: type[Content]) -> bool:
    return type.is_section


def _is_page(type: type[Content]) -> bool:
    return not (type.is_section or type.is_dated or type.is_file)


def _is_dated(type: type[Content]) -> bool:
    return type.is_dated and not type.is_file


def _is_of_author(type: type[Content]) -> bool:
    return type.is_of_author


def _is_leaf(type: type[Content]) -> bool:
    return not type.is_section


def _forget() -> None:
    for kept in (names, may_hold, listed_by_facets, listed_by_own_date, facet_names):
        kept.cache_clear()
