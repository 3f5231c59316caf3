"""Base classes for content types.

A type is a class with model fields (from Django or the database backend) and settings. Each class is the model for
`metadata.detail` in nodes of its type. Content types have no tables and no migrations. Their model registry is separate
from Django's.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar

from django.apps.registry import Apps
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import NotSupportedError, models
from django.db.models.base import ModelBase
from django.http import HttpRequest
from django.utils.functional import Promise, classproperty
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import ObjectIdField
from django_mongodb_backend.managers import EmbeddedModelManager
from django_mongodb_backend.models import EmbeddedModel

from marginalia.trust import MAX_TRUST_AFTER
from nodes import languages
from nodes.content import routes, values
from nodes.content.routes import Route
from nodes.themes import THEMES

if TYPE_CHECKING:
    from nodes.models import Node
    from nodes.selectors.content_queries import ContentQuery
    from nodes.types import User

T = TypeVar("T", bound="Content")

MARKDOWN, HTML = "markdown", "html"
# The ways in which a section can list its nodes.
NEWEST = "newest"  # Posts, newest first.
BY_NAME = "by-name"  # Pages and subsections, by name until editors arrange them.
BY_HAND = "by-hand"  # Pages and subsections, in the order that editors set. New pages come last.
PHOTOS = "photos"  # Photos, newest first.
UPCOMING = "upcoming"  # Pages, by their date field.

# The name of the section template for each kind of list.
LISTED_BY = {NEWEST: "blog", BY_NAME: "folder", BY_HAND: "folder", PHOTOS: "gallery", UPCOMING: "upcoming"}

# A separate model registry keeps content types out of the list of Django's own models.
_MODELS = Apps(())
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


# An upgrade function converts the stored detail of a node from one version of its type to the next.
Upgrader = Callable[[dict[str, Any]], Mapping[str, Any]]


def upgrade(*, from_version: int) -> Callable[[Upgrader], "staticmethod[[dict[str, Any]], Mapping[str, Any]]"]:
    """Declare a function as the upgrader that converts a type's stored detail from `from_version` to the next version.

    The upgrader runs on every read, so its result must depend only on the detail. It can modify the detail that it
    receives.
    """

    def declare(function: Upgrader) -> "staticmethod[[dict[str, Any]], Mapping[str, Any]]":
        function = inspect.unwrap(function)
        function.upgrades_from = from_version  # type: ignore[attr-defined]
        return staticmethod(function)

    return declare


class ContentBase(ModelBase):
    """The metaclass that keeps content types out of Django's model registry, and therefore out of migrations.

    A type that extends another type gets copies of the other type's fields, as from an abstract model. Django's
    inheritance of concrete models would add a relation instead.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], attrs: dict[str, Any], **kwargs: Any) -> type:
        declared = (attrs["Meta"],) if "Meta" in attrs else ()
        label = attrs["__module__"].replace(".", "_")
        attrs["Meta"] = type("Meta", declared, {"apps": _MODELS, "app_label": label})
        with _treated_as_abstract(base for base in bases if isinstance(base, ContentBase)):
            made: type = super().__new__(mcs, name, bases, attrs, **kwargs)
        return made


@contextmanager
def _treated_as_abstract(types: Iterable[ContentBase]) -> Iterator[None]:
    """Mark concrete types as abstract until the block ends, so that Django copies their fields to a new subclass."""
    concrete = [type for type in types if not type._meta.abstract]
    for type in concrete:
        type._meta.abstract = True
    try:
        yield
    finally:
        for type in concrete:
            type._meta.abstract = False


class Live:
    """The descriptor for `live`. Each access returns a new query."""

    def __get__(self, instance: object, owner: type[T]) -> "ContentQuery[T]":
        # Selectors import content types, so importing selectors at the top would cause a circular import.
        return import_module("nodes.selectors.content_queries").live(owner)


class ContentManager(EmbeddedModelManager):
    """The manager of content types, which raises errors that say how to read and write their pages."""

    def _reject_query(self, *args: Any, **kwargs: Any) -> NoReturn:
        name = self.model.__name__
        raise NotSupportedError(f"{name}.objects doesn't support queries. Use {name}.live or {name}.visible_to(user).")

    def _reject_write(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotSupportedError(_write_message(self.model))

    all = get = filter = exclude = order_by = count = exists = first = _reject_query
    create = update = delete = _reject_write


def _write_message(type: type[models.Model]) -> str:
    """Return the message for code that writes an instance of a content type with Django's methods."""
    return f"{type.__name__} can't be written directly. Use actions, such as CreateNode and SaveNode in nodes.actions."


class NodeField(ObjectIdField):
    """A field for the id of a page, post or section.

    The target may have been deleted, so templates must use {% referred %} to load it.
    """


class PhotoField(NodeField):
    """A field for the id of a photo."""


class Part(EmbeddedModel, metaclass=ContentBase):
    """Base class for parts nested in a content type, such as an ingredient or a step.

    Each part in a list has an id, so that concurrent edits of the list can be merged.
    """

    id = ObjectIdField(db_column="_id", primary_key=True, editable=False, null=True)

    class Meta:
        abstract = True

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the part for a stored document."""
        return cls(**values.attributes(cls, document))


class Content(EmbeddedModel, metaclass=ContentBase):
    """Base class for all content types. Class attributes that aren't fields control the behaviour of the type."""

    # The value of `metadata.type`. The default is the class's name in kebab-case.
    type_name: ClassVar[str]
    # The description that editors see when they choose a type. The default is the first line of the class's docstring.
    description: ClassVar[str | Promise]
    # The section types that can contain this type, as names or as classes. This includes the types that extend them.
    # The top level counts as a folder.
    stands_in: ClassVar[Sequence["type[Content] | str"]] = ()
    # The template for public pages if nodes/<type>.html doesn't exist.
    template: ClassVar[str] = "nodes/basic-page.html"
    # The https://schema.org type in the page's structured data.
    schema_org: ClassVar[str] = "Article"
    is_section: ClassVar[bool] = False
    # Whether pages show their publication date, and links to the previous and next node.
    is_dated: ClassVar[bool] = False
    # Whether nodes of this type are files in GridFS.
    is_file: ClassVar[bool] = False
    # The way in which a section of this type lists its nodes, or "" for types that aren't sections.
    lists: ClassVar[str] = ""
    # For a section: the number of nodes per page of its list, or None for the site's setting.
    page_size: ClassVar[int | None] = None
    # For a section: the maximum number of pages, subsections and photos in it, or None for no limit.
    most: ClassVar[int | None] = None
    # The default comment policy for pages of this type, or for all nodes in a section of this type. "" means the policy
    # of the parent section or the site.
    comment_policy: ClassVar[str] = ""
    # Whether pages of this type describe an author. Such a page lists all posts credited to one of the author's names.
    is_of_author: ClassVar[bool] = False
    # The storage layout of new discussions on pages of this type, or on all nodes in a section of this type. "" means
    # the layout of the parent section, or the layout in the settings.
    comment_layout: ClassVar[str] = ""
    # The names of the fields by which lists can be filtered: text, numbers, dates, booleans, and lists of these.
    facets: ClassVar[Sequence[str]] = ()
    # The name of a date field. Sections in which `lists` is UPCOMING sort pages of this type by this field.
    date_field: ClassVar[str] = ""
    # The indexes for queries: for each index, the name of a field, or a list of names. "-" means descending order.
    # Indexes can also contain "section", "tags" or "facets", and fields that all types have, such as "-published".
    indexes: ClassVar[Sequence[str | Sequence[str]]] = ()
    # The query for the public pages of this type.
    live = Live()
    # The names of the fields that are shown as columns when the admin list is limited to this type.
    list_display: ClassVar[Sequence[str]] = ()
    # The names of the fields whose words have the same weight in searches as the title or the tags. Other fields have
    # the same weight as the body text.
    searched_as_title: ClassVar[Sequence[str]] = ()
    searched_as_tags: ClassVar[Sequence[str]] = ()
    # The weight of pages of this type in search results. Pages with twice the weight come first even if their text
    # matches a bit less.
    search_weight: ClassVar[float] = 1.0
    # Combinations of fields, as tuples of names. No two nodes of this type in a section can have the same values in all
    # fields of a combination.
    unique_together_in_section: ClassVar[Sequence[Sequence[str]]] = ()
    # The names of the properties and methods whose values the API returns in `computed`.
    api_fields: ClassVar[Sequence[str]] = ()
    # Whether an installed app declares the type.
    is_installed: ClassVar[bool] = True
    # The version of the type's fields. Upgraders convert older documents, one version at a time.
    schema_version: ClassVar[int] = 1
    # (from_version, upgrader) for each function that is declared with `upgrade`.
    upgraders: ClassVar[Sequence[tuple[int, Upgrader]]] = ()
    # The routes that are declared with `route`.
    declared_routes: ClassVar[tuple[Route, ...]] = ()
    # Templates need the class itself, so the template engine must not call it.
    do_not_call_in_templates: ClassVar[bool] = True

    objects = ContentManager()

    # The page with these fields, or None if it hasn't been stored yet.
    node: "Node" = None  # type: ignore[assignment]

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.title or super().__str__()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "type_name" not in cls.__dict__:
            cls.type_name = _WORDS.sub("-", cls.__name__).lower()
        if "description" not in cls.__dict__:
            cls.description = (cls.__dict__.get("__doc__") or "").strip().partition("\n")[0]
        functions = {
            name: inspect.unwrap(value) for above in reversed(cls.__mro__) for name, value in vars(above).items()
        }
        cls.upgraders = tuple((f.upgrades_from, f) for f in functions.values() if hasattr(f, "upgrades_from"))
        cls.declared_routes = routes.declared(cls)

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotSupportedError(_write_message(type(self)))

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotSupportedError(_write_message(type(self)))

    @classproperty
    def label(cls) -> str | Promise:
        """The label of the type, with a capital letter. Django's default for `verbose_name` is in lower case."""
        label: str | Promise = capfirst(cls._meta.verbose_name)
        return label

    @classmethod
    def visible_to(cls, user: "User | None") -> "ContentQuery[Self]":
        """Return the query for the pages of this type that `user` can see.

        These are the public pages, and the pages that the user can see in the admin. Pages are returned without the
        changes in their drafts. Responses that show the result aren't cached.

        Args:
            user: The user, such as `request.user`, or the Principal of an API request. None stands for a visitor.
        """
        return import_module("nodes.access").visible_content(user, cls)

    @property
    def title(self) -> str:
        """The title of the page."""
        return self.node.metadata.title if self.node else ""

    @property
    def url(self) -> str:
        """The URL path of the page, without the host."""
        return self.node.get_absolute_url() if self.node else ""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return an instance for a stored `detail`, which can be incomplete because of a projection."""
        return cls(**values.attributes(cls, document))

    def linked_data(self) -> Mapping[str, Any]:
        """Return the content of the fields as https://schema.org properties, for example {"recipeYield": 2}.

        These properties are added to the properties that every page has, and replace those with the same name. Empty
        values are left out, so a value of None removes a property.
        """
        return {}

    def search_words(self) -> Iterable[str]:
        """Return additional words by which searches find the page, for example other spellings or a product number.

        The words have the same weight as tags, and aren't shown anywhere. They are stored whenever the page is saved.
        """
        return ()

    def get_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return additional variables for the page's template. `self.node` is the page.

        The page cache stores the page, so the variables must not depend on request headers or cookies.
        """
        return {}

    @classmethod
    def is_arrangeable(cls) -> bool:
        """Return whether editors can arrange the contents of a node. Sections that list by date have no other order."""
        return cls.lists in (BY_NAME, BY_HAND)

    @classmethod
    def may_stand_in(cls, section: "type[Content]") -> bool:
        """Return whether sections whose type is `section` can contain nodes of this type."""
        names = {type.type_name for type in section.lineage()}
        return any(
            holder in names if isinstance(holder, str) else issubclass(section, holder) for holder in cls.stands_in
        )

    @classmethod
    def lineage(cls) -> list["type[Content]"]:
        """Return this type and the types that it extends, nearest first, without abstract base classes."""
        return [type for type in cls.__mro__ if issubclass(type, Content) and not type._meta.abstract]

    @classmethod
    def templates(cls) -> Collection[str]:
        """Return the names of the templates for public pages. The first existing template is used."""
        return [*cls._own_templates(), cls.template]

    @classmethod
    def route_templates(cls, route: Route) -> list[str]:
        """Return the names of the templates for the context of a route. The first existing template is used."""
        return (
            [route.template]
            if route.template
            else [f"nodes/{type.type_name}-{route.name}.html" for type in cls.lineage()]
        )

    @classmethod
    def _own_templates(cls) -> list[str]:
        """Return the names of the templates that belong to this type and the types that it extends."""
        return [f"nodes/{type.type_name}.html" for type in cls.lineage()]


class Written(Content):
    """Base class for types with body text."""

    text = models.TextField(_("Text"), blank=True, default="")
    format = models.CharField(
        _("Format"), max_length=20, default=MARKDOWN, choices=[(MARKDOWN, "Markdown"), (HTML, "HTML")]
    )
    comments = models.CharField(_("Comments"), max_length=20, blank=True)
    # The id of the photo that is shown above the text, in lists and in link previews. Lists read a copy of the id in
    # `derived.picture`.
    picture = PhotoField(
        _("Featured photo"),
        null=True,
        blank=True,
        help_text=_("Shown above the text, in lists and in link previews. Leave empty to show no photo."),
    )
    # These fields replace the title and the summary in search engines and link previews.
    seo_title = models.CharField(
        _("SEO title"),
        max_length=300,
        blank=True,
        default="",
        help_text=_("Search engines show about 60 characters. Leave empty to use the title."),
    )
    seo_description = models.TextField(
        _("SEO description"),
        blank=True,
        default="",
        help_text=_("Search engines show about 160 characters. Leave empty to use the summary."),
    )
    # Lists and searches read the language from `derived.language`, which also contains detected languages.
    language = models.CharField(
        _("Language"),
        max_length=20,
        blank=True,
        default="",
        choices=[("", _("Detect from the text")), *languages.CHOICES],
        help_text=_("The language of the title and the text, for hyphenation, quotation marks and text direction."),
    )
    # The source from which the node was imported. Later imports use this value to find the node again.
    source = models.JSONField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True


class Entry(Written):
    """Base class for posts: nodes that are listed by date in their section, newest first."""

    stands_in: ClassVar[Sequence["type[Content] | str"]] = ("blog",)
    template = "nodes/blog-entry.html"
    schema_org = "BlogPosting"
    is_dated = True

    is_pinned = models.BooleanField(
        _("Pinned"), default=False, help_text=_("Shows this post first in its section, before newer posts.")
    )

    class Meta:
        abstract = True


class Page(Written):
    """Base class for single pages in a folder or at the top level."""

    stands_in: ClassVar[Sequence["type[Content] | str"]] = ("folder",)

    class Meta:
        abstract = True


class Section(Written):
    """Base class for sections, which contain other nodes."""

    stands_in: ClassVar[Sequence["type[Content] | str"]] = ("folder",)
    schema_org = "CollectionPage"
    is_section = True
    lists = NEWEST
    # If `template` is empty, the section's template depends on `lists`.
    template = ""

    theme = models.CharField(
        _("Theme"),
        max_length=20,
        blank=True,
        default="",
        choices=[("", _("Same as the section above or the site")), *THEMES],
        help_text=_("The look of this section and everything in it."),
    )
    trust_after = models.IntegerField(
        _("First comments to approve"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(MAX_TRUST_AFTER)],
        help_text=_(
            "How many comments of each author need approval in this section. Leave empty for the number of the section "
            "above or the site."
        ),
    )

    class Meta:
        abstract = True

    @classmethod
    def templates(cls) -> Collection[str]:
        """Return the names of the templates for public pages. The first existing template is used."""
        return [*cls._own_templates(), cls.template or f"nodes/{LISTED_BY[cls.lists]}.html"]


class Missing(Written):
    """Placeholder for types that no installed app declares.

    Their nodes remain in the database, but only editors can see them.
    """

    type_name = ""
    is_installed = False

    class Meta:
        verbose_name = _("Unknown type (not installed)")
