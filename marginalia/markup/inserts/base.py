"""The base class for inserts, and their registry."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from bson import ObjectId
from django import forms
from django.core.exceptions import ImproperlyConfigured
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.safestring import SafeString

from marginalia.markup import directives
from marginalia.markup.inserts.fields import AddressField, PhotoIdField, PhotoIdsField

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_REGISTRY: dict[str, type["Insert"]] = {}


class Site(Protocol):
    """The data that an insert can read while it is being rendered. Data that readers can't see isn't included."""

    def photo(self, photo_id: ObjectId) -> Any:
        """Return one of the photos in the insert's `references`, or None if readers can't see it."""

    def file(self, file_id: ObjectId) -> Any:
        """Return one of the files in the insert's `references`, or None if readers can't see it."""

    def node(self, node_id: ObjectId) -> Any:
        """Return a node with all its fields, or None if readers can't see it. Each call queries the database."""

    def photos_of(self, gallery_id: ObjectId, most: int) -> Sequence[Any]:
        """Return up to `most` of a gallery's newest photos."""

    def tagged(self, tag: str, most: int) -> Sequence[Any]:
        """Return up to `most` of the newest pages, posts and photos with `tag`.

        If `tag` is "", return the newest posts.
        """


@dataclass(frozen=True)
class Context:
    """The context in which an insert is rendered.

    Attributes:
        site: The data that the insert can read.
        html: The entire text as clean HTML.
        content: The rendered text inside the insert.
        is_feed: Whether the text is for feed readers, which support neither scripts nor styles.
    """

    site: Site
    html: str
    content: SafeString = SafeString("")
    is_feed: bool = False


@dataclass(frozen=True)
class References:
    """The ids of the nodes, files and photos that text or an insert refers to. Files are among `nodes`."""

    nodes: frozenset[ObjectId] = frozenset()
    photos: frozenset[ObjectId] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.photos)

    def __or__(self, other: "References") -> "References":
        return References(self.nodes | other.nodes, self.photos | other.photos)


class Insert(forms.Form):
    """An insert: a form whose fields are the attributes of its directive.

    A subclass sets `label` and `help` (for the editor's menu), `template`, and the fields.
    """

    name: ClassVar[str] = ""  # the name of the directive, which the registry sets
    label: ClassVar[str | Promise] = ""
    help: ClassVar[str | Promise] = ""
    template: ClassVar[str] = ""
    # The attribute values for example directives. Set them for fields that accept only certain values, and for fields
    # that an insert needs although they aren't required.
    examples: ClassVar[Mapping[str, str]] = {}
    # Whether the insert contains text, between `:::name` and `:::`.
    is_container: ClassVar[bool] = False
    # The maximum number of inserts of this type in body text. The number is limited because each insert adds to the
    # text's rendering time.
    most: ClassVar[int] = 50

    def values(self) -> dict[str, Any]:
        """Return the cleaned attributes. The insert must be valid."""
        return dict(self.cleaned_data)

    def references(self) -> References:
        """Return the nodes and photos that the insert uses."""
        photos: set[ObjectId] = set()
        nodes: set[ObjectId] = set()
        for name, field in self.fields.items():
            value = self.cleaned_data.get(name)
            if isinstance(field, AddressField):
                value = field.node(value or "")
            if isinstance(field, PhotoIdsField):
                photos.update(value or ())
            elif isinstance(value, ObjectId):
                (photos if isinstance(field, PhotoIdField) else nodes).add(value)
        return References(frozenset(nodes), frozenset(photos))

    def context(self, context: Context) -> dict[str, Any] | None:
        """Return variables for the template in addition to the attributes, or None if there is nothing to show."""
        return {}

    def as_html(self, context: Context) -> str:
        """Return the insert as safe HTML."""
        extra = self.context(context)
        if extra is None:
            return ""
        template_context = {**self.values(), "content": context.content, "is_feed": context.is_feed, **extra}
        return render_to_string(self.template, template_context).strip()

    def iframe_origins(self) -> frozenset[str]:
        """Return the origins that the insert can load in an iframe, such as "https://player.example.org"."""
        return frozenset()

    def plain(self) -> str:
        """Return the text in the attributes, for search and excerpts. The text inside the insert isn't included."""
        return ""


def insert(name: str) -> Callable[[type[Insert]], type[Insert]]:
    """Return a class decorator that registers a subclass of Insert for the directive `::name{…}`.

    Raises:
        ImproperlyConfigured: The name is in use, or the name or an attribute isn't valid in a directive.
    """
    if not _NAME.fullmatch(name):
        raise ImproperlyConfigured(
            f"An insert can't be called {name!r}. Use at most 40 characters of a-z, 0-9 and hyphens."
        )

    def register(insert_class: type[Insert]) -> type[Insert]:
        if invalid := [field for field in insert_class.base_fields if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", field)]:
            raise ImproperlyConfigured(
                f"The insert “{name}” has the attribute {invalid[0]!r}, which can't be written in a text. Rename it."
            )
        if _REGISTRY.setdefault(name, insert_class) is not insert_class:
            raise ImproperlyConfigured(
                f"Two inserts are called “{name}”: {_REGISTRY[name]} and {insert_class}. Rename one."
            )
        insert_class.name = name
        insert_class.label = insert_class.label or name.capitalize()
        return insert_class

    return register


def unregister(name: str) -> None:
    """Remove an insert from the registry. Tests that register their own inserts need this function."""
    _REGISTRY.pop(name, None)


def registered_inserts() -> tuple[type[Insert], ...]:
    """Return all insert classes, in the order in which they were registered."""
    return tuple(_REGISTRY.values())


def find_insert(name: str) -> type[Insert] | None:
    """Return the insert class called `name`, or None if there is none."""
    return _REGISTRY.get(name)


def example_directive(insert_class: type[Insert]) -> str:
    """Return an example directive for an insert, with the attributes that it needs."""
    needed = (name for name, field in insert_class.base_fields.items() if field.required and field.initial is None)
    names = dict.fromkeys((*needed, *insert_class.examples))
    sample_values = {
        name: insert_class.examples.get(name) or f"{getattr(insert_class.base_fields[name], 'prefix', '')}…"
        for name in names
    }
    return directives.to_markdown(insert_class.name, sample_values, "…" if insert_class.is_container else None)


def bind_insert(insert_class: type[Insert], attributes: dict[str, str]) -> Insert:
    """Return an insert with `attributes`. All other attributes get their initial values."""
    initial_values = {
        name: field.initial for name, field in insert_class.base_fields.items() if field.initial is not None
    }
    return insert_class({**initial_values, **attributes}, use_required_attribute=False)
