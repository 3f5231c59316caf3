"""What an insert is, and which there are."""

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
    """What an insert may read while it is shown. All of it is for readers: what they may not see is not there."""

    def photo(self, photo_id: ObjectId) -> Any:
        """Return a photo, one of those that `references` names; None if it is not there."""

    def node(self, node_id: ObjectId) -> Any:
        """Return a page, post, section or photo with all its fields; None if it is not there. Reads it each time."""

    def photos_of(self, gallery_id: ObjectId, most: int) -> Sequence[Any]:
        """Return the newest photos of a gallery."""

    def tagged(self, tag: str, most: int) -> Sequence[Any]:
        """Return the newest pages, posts and photos with a tag; of all posts without one."""


@dataclass(frozen=True)
class Context:
    """Where an insert is shown: `html` is the whole clean text, `content` what stands in the insert, as shown.

    `is_feed`: for feed readers, which have neither scripts nor styles.
    """

    site: Site
    html: str
    content: SafeString = SafeString("")
    is_feed: bool = False


@dataclass(frozen=True)
class References:
    """Ids of nodes and photos that a text uses."""

    nodes: frozenset[ObjectId] = frozenset()
    photos: frozenset[ObjectId] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.photos)

    def __or__(self, other: "References") -> "References":
        return References(self.nodes | other.nodes, self.photos | other.photos)


class Insert(forms.Form):
    """What an editor puts into a text: a form whose fields are the attributes of its directive.

    A class says `label` and `help`, for the editor's menu, `template`, and the fields.
    """

    name: ClassVar[str] = ""  # that of the directive: the registry gives it
    label: ClassVar[str | Promise] = ""
    help: ClassVar[str | Promise] = ""
    template: ClassVar[str] = ""
    # Attributes that an example must show, and their values: of fields that take not just any, and of those that are needed
    # without being required.
    examples: ClassVar[Mapping[str, str]] = {}
    # Whether text stands in it, between `:::name` and `:::`.
    is_container: ClassVar[bool] = False
    # How many a text may have: what they read and show adds up.
    most: ClassVar[int] = 50

    def values(self) -> dict[str, Any]:
        """Return the attributes as their fields clean them. Only of one that is valid."""
        return dict(self.cleaned_data)

    def references(self) -> References:
        """Return the nodes and photos that it uses."""
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
        """Return what the template is given beside the attributes; None where there is nothing to show."""
        return {}

    def as_html(self, context: Context) -> str:
        """Return the insert as safe HTML."""
        more = self.context(context)
        if more is None:
            return ""
        given = {**self.values(), "content": context.content, "is_feed": context.is_feed, **more}
        return render_to_string(self.template, given).strip()

    def iframe_origins(self) -> frozenset[str]:
        """Return the origins of other sites whose pages it may show in a frame, such as "https://player.example.org"."""
        return frozenset()

    def plain(self) -> str:
        """Return the words of its attributes, for search and excerpts. What stands in it needs not be repeated."""
        return ""


def insert(name: str) -> Callable[[type[Insert]], type[Insert]]:
    """Register a subclass of Insert as what `::name{…}` means.

    Raises ImproperlyConfigured for a name that is taken or cannot be that of a directive, and for attributes that cannot.
    """
    if not _NAME.fullmatch(name):
        raise ImproperlyConfigured(f"An insert cannot be called {name!r}: a-z, 0-9 and hyphens, at most 40.")

    def register(made: type[Insert]) -> type[Insert]:
        if wrong := [field for field in made.base_fields if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", field)]:
            raise ImproperlyConfigured(
                f"The insert “{name}” has an attribute {wrong[0]!r} that no directive can spell."
            )
        if _REGISTRY.setdefault(name, made) is not made:
            raise ImproperlyConfigured(f"There are two inserts “{name}”: {_REGISTRY[name]} and {made}.")
        made.name = name
        made.label = made.label or name.capitalize()
        return made

    return register


def unregister(name: str) -> None:
    """Forget an insert, as tests do that have one of their own."""
    _REGISTRY.pop(name, None)


def registered_inserts() -> tuple[type[Insert], ...]:
    """Return all inserts, in the order in which they were registered."""
    return tuple(_REGISTRY.values())


def find_insert(name: str) -> type[Insert] | None:
    """Return the insert that a directive names; None if there is none."""
    return _REGISTRY.get(name)


def example_directive(made: type[Insert]) -> str:
    """Return how an insert is written, with the attributes that it must have."""
    needed = (name for name, field in made.base_fields.items() if field.required and field.initial is None)
    names = dict.fromkeys((*needed, *made.examples))
    said = {name: made.examples.get(name) or f"{getattr(made.base_fields[name], 'prefix', '')}…" for name in names}
    return directives.to_markdown(made.name, said, "…" if made.is_container else None)


def bind_insert(made: type[Insert], attributes: dict[str, str]) -> Insert:
    """Return an insert with these attributes, those that are not said as the fields begin."""
    begun = {name: field.initial for name, field in made.base_fields.items() if field.initial is not None}
    return made({**begun, **attributes}, use_required_attribute=False)
