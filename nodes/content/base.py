"""Base classes of content types. A type is a class with fields of Django or the database back end, and class attributes.

Each class is the model of `metadata.detail` of the nodes of its type. It has no table and no migrations, and it belongs
to a registry of models of its own, apart from Django's.
"""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

from django.apps.registry import Apps
from django.db import models
from django.db.models.base import ModelBase
from django.utils.functional import Promise, classproperty
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import ObjectIdField
from django_mongodb_backend.models import EmbeddedModel

from nodes.content import values

MARKDOWN, HTML = "markdown", "html"
# How a section lists its nodes: by publication date; by name, with its sections; both in the order of editors; as
# photos; or by a date field of its pages.
NEWEST = "newest"
BY_NAME = "by-name"
BY_HAND = "by-hand"
PHOTOS = "photos"
UPCOMING = "upcoming"

# The templates of sections.
LISTED_BY = {NEWEST: "blog", BY_NAME: "folder", BY_HAND: "folder", PHOTOS: "gallery", UPCOMING: "upcoming"}

# A separate registry of models, so that Django doesn't find content types among its models.
_MODELS = Apps(())
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


# A function that converts the stored detail of one version of a type to the next version.
Upgrader = Callable[[dict[str, Any]], Mapping[str, Any]]


def upgrade(*, from_version: int) -> Callable[[Upgrader], "staticmethod[[dict[str, Any]], Mapping[str, Any]]"]:
    """Declare a function of a type as the upgrader that converts a stored detail from one version to the next.

    The upgrader runs at every read, so it must be pure: its result only depends on the detail. It can change the detail
    that it gets.
    """

    def declare(function: Upgrader) -> "staticmethod[[dict[str, Any]], Mapping[str, Any]]":
        function = inspect.unwrap(function)
        function.upgrades_from = from_version  # type: ignore[attr-defined]
        return staticmethod(function)

    return declare


class ContentBase(ModelBase):
    """The metaclass that keeps content types out of Django's registry, and so out of migrations."""

    def __new__(mcs, name: str, bases: tuple[type, ...], attrs: dict[str, Any], **kwargs: Any) -> type:
        above = [base for base in bases if isinstance(base, ContentBase) and not base._meta.abstract]
        if above:
            raise TypeError(
                f"{name} can't extend {above[0].__name__}, which is a content type itself. Use an "
                "abstract base class for both."
            )
        declared = (attrs["Meta"],) if "Meta" in attrs else ()
        label = attrs["__module__"].replace(".", "_")
        attrs["Meta"] = type("Meta", declared, {"apps": _MODELS, "app_label": label})
        made: type = super().__new__(mcs, name, bases, attrs, **kwargs)
        return made


class NodeField(ObjectIdField):
    """Field for the id of a page, a post or a section.

    The target may no longer exist, so templates use {% referred %}.
    """


class PhotoField(NodeField):
    """Field for the id of a photo."""


class Part(EmbeddedModel, metaclass=ContentBase):
    """Base of parts nested in a type, such as an ingredient or a step.

    Each part of a list has an id, by which edits merge.
    """

    id = ObjectIdField(db_column="_id", primary_key=True, editable=False, null=True)

    class Meta:
        abstract = True

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the part for a stored document."""
        return cls(**values.attributes(cls, document))


class Content(EmbeddedModel, metaclass=ContentBase):
    """Base of all content types. Class attributes that are not fields set the behaviour of the type."""

    # The value of `metadata.type`, by default the class's name in kebab-case.
    type_name: ClassVar[str]
    # The description for editors who choose a type, by default the first line of the class's docstring.
    description: ClassVar[str | Promise]
    # The types of sections that can contain it, as names or as classes, which include their subclasses. The top level
    # is a folder.
    stands_in: ClassVar[Sequence["type[Content] | str"]] = ()
    # The template of readers' pages if nodes/<type>.html doesn't exist.
    template: ClassVar[str] = "nodes/basic-page.html"
    # The type of https://schema.org for structured data.
    schema_org: ClassVar[str] = "Article"
    is_section: ClassVar[bool] = False
    # Whether readers see its publication date, and links to the previous and the next node.
    is_dated: ClassVar[bool] = False
    # Whether its nodes are files in GridFS.
    is_file: ClassVar[bool] = False
    # How a section lists its nodes; "" for other types.
    lists: ClassVar[str] = ""
    # For sections, the number of nodes on one page of its list, or None for the site's setting.
    page_size: ClassVar[int | None] = None
    # For sections, the maximum number of pages, sections and photos in it, or None for no limit.
    most: ClassVar[int | None] = None
    # The comment policy of its pages, or of all nodes in a section, if editors choose none. "" means the policy of the
    # section above, or of the site.
    comment_policy: ClassVar[str] = ""
    # Whether its pages describe an author. They list the posts with the author's names.
    is_of_author: ClassVar[bool] = False
    # The storage layout of new discussions of its pages, or of all nodes in a section. "" means the layout of the
    # section above, or of the settings.
    comment_layout: ClassVar[str] = ""
    # The names of the fields by which lists filter: texts, numbers, dates, booleans, and lists of these.
    facets: ClassVar[Sequence[str]] = ()
    # The name of the date field by which sections with UPCOMING list its pages.
    date_field: ClassVar[str] = ""
    # The names of the fields that get columns in the admin's list when it only shows this type.
    list_display: ClassVar[Sequence[str]] = ()
    # The names of the fields whose words search weighs like the title, or like the tags. Other fields weigh like the
    # text.
    searched_as_title: ClassVar[Sequence[str]] = ()
    searched_as_tags: ClassVar[Sequence[str]] = ()
    # False for nodes whose type no installed app declares.
    is_installed: ClassVar[bool] = True
    # The version of the type's fields. Upgraders convert older documents, one version at a time.
    schema_version: ClassVar[int] = 1
    # (from_version, upgrader) for each function that `upgrade` declares.
    upgraders: ClassVar[Sequence[tuple[int, Upgrader]]] = ()
    # Templates use the class itself, so they must not call it.
    do_not_call_in_templates: ClassVar[bool] = True

    class Meta:
        abstract = True

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

    @classproperty
    def label(cls) -> str | Promise:
        """The label of the type."""
        label: str | Promise = cls._meta.verbose_name
        return label

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the detail for a stored document, or for the projected part of one."""
        return cls(**values.attributes(cls, document))

    def linked_data(self) -> Mapping[str, Any]:
        """Return the content of the fields as properties of https://schema.org, for example {"recipeYield": 2}.

        They are added to the properties of every page, and replace properties with the same name. Empty values are left
        out, so None removes a property.
        """
        return {}

    @classmethod
    def may_stand_in(cls, section: "type[Content]") -> bool:
        """Return whether sections of the type `section` can contain nodes of this type."""
        return any(
            section.type_name == holder if isinstance(holder, str) else issubclass(section, holder)
            for holder in cls.stands_in
        )

    @classmethod
    def templates(cls) -> Collection[str]:
        """Return the names of the templates for readers. The first existing one is used."""
        return [f"nodes/{cls.type_name}.html", cls.template]


class Written(Content):
    """Base of types with a text."""

    text = models.TextField(_("Text"), blank=True, default="")
    format = models.CharField(
        _("Format"), max_length=20, default=MARKDOWN, choices=[(MARKDOWN, "Markdown"), (HTML, "HTML")]
    )
    comments = models.CharField(_("Comments"), max_length=20, blank=True)
    # The photo above the text, in lists and in link previews. Lists read a copy, `derived.picture`.
    picture = PhotoField(
        _("Featured photo"),
        null=True,
        blank=True,
        help_text=_("Shown above the text, in lists and in link previews. If left empty, the page has no photo."),
    )
    # The texts for search engines and link previews, instead of the title and the summary.
    seo_title = models.CharField(
        _("SEO title"),
        max_length=300,
        blank=True,
        default="",
        help_text=_("Search engines show about 60 characters. If left empty, the title is used."),
    )
    seo_description = models.TextField(
        _("SEO description"),
        blank=True,
        default="",
        help_text=_("Search engines show about 160 characters. If left empty, the summary is used."),
    )
    # The source of an imported node, for later imports.
    source = models.JSONField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True


class Entry(Written):
    """Base of posts: nodes that their section lists by date, newest first."""

    stands_in = ("blog",)
    template = "nodes/blog-entry.html"
    schema_org = "BlogPosting"
    is_dated = True

    is_pinned = models.BooleanField(
        _("Pinned"), default=False, help_text=_("Shows this post first in its section, before newer posts.")
    )

    class Meta:
        abstract = True


class Page(Written):
    """Base of single pages in a folder or at the top level."""

    stands_in = ("folder",)

    class Meta:
        abstract = True


class Section(Written):
    """Base of sections, which contain other nodes."""

    stands_in = ("folder",)
    schema_org = "CollectionPage"
    is_section = True
    lists = NEWEST
    # If empty, the template depends on `lists`.
    template = ""

    class Meta:
        abstract = True

    @classmethod
    def templates(cls) -> Collection[str]:
        """Return the names of the templates for readers. The first existing one is used."""
        return [f"nodes/{cls.type_name}.html", cls.template or f"nodes/{LISTED_BY[cls.lists]}.html"]


class Missing(Written):
    """Placeholder for types that no installed app declares. Their nodes stay stored, and only editors see them."""

    type_name = ""
    is_installed = False

    class Meta:
        verbose_name = _("Type that isn't installed")
