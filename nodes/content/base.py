"""What a content type is: a class whose fields are Django's and the back end's own, and what the site asks of it.

Each class is the model of `metadata.detail` of the nodes of its type. It is no table and has no migrations: it stands in a
registry of models of its own, apart from Django's.
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
# How a section lists what stands in it: by when it was published; by name with the sections below it; these together as editors
# arranged them; as pictures; or by a date that its pages name.
NEWEST = "newest"
BY_NAME = "by-name"
BY_HAND = "by-hand"
PHOTOS = "photos"
UPCOMING = "upcoming"

# The templates of sections.
LISTED_BY = {NEWEST: "blog", BY_NAME: "folder", BY_HAND: "folder", PHOTOS: "gallery", UPCOMING: "upcoming"}

# Where Django looks for models it finds none of these.
_MODELS = Apps(())
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


# From the stored detail of one version of a type to that of the next.
Upgrader = Callable[[dict[str, Any]], Mapping[str, Any]]


def upgrade(*, from_version: int) -> Callable[[Upgrader], "staticmethod[[dict[str, Any]], Mapping[str, Any]]"]:
    """Declare a function of a type as its upgrader: it takes a stored detail of one version and returns the next's.

    It runs at every read, so it is pure: what it returns depends on the detail alone. It may change the one it is given.
    """

    def declare(function: Upgrader) -> "staticmethod[[dict[str, Any]], Mapping[str, Any]]":
        function = inspect.unwrap(function)
        function.upgrades_from = from_version  # type: ignore[attr-defined]
        return staticmethod(function)

    return declare


class ContentBase(ModelBase):
    """Keeps the classes of content out of Django's registry, and so out of migrations."""

    def __new__(mcs, name: str, bases: tuple[type, ...], attrs: dict[str, Any], **kwargs: Any) -> type:
        above = [base for base in bases if isinstance(base, ContentBase) and not base._meta.abstract]
        if above:
            raise TypeError(
                f"{name} cannot extend {above[0].__name__}, which is a type itself: share an abstract class."
            )
        declared = (attrs["Meta"],) if "Meta" in attrs else ()
        label = attrs["__module__"].replace(".", "_")
        attrs["Meta"] = type("Meta", declared, {"apps": _MODELS, "app_label": label})
        made: type = super().__new__(mcs, name, bases, attrs, **kwargs)
        return made


class NodeField(ObjectIdField):
    """The id of a page, a post or a section. What it names may go: templates ask for it by {% referred %}."""


class PhotoField(NodeField):
    """The id of a photo."""


class Part(EmbeddedModel, metaclass=ContentBase):
    """Base of what is nested in a type: an ingredient, a step. Each part of a list has an id, by which edits merge."""

    id = ObjectIdField(db_column="_id", primary_key=True, editable=False, null=True)

    class Meta:
        abstract = True

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the object that a stored document stands for."""
        return cls(**values.attributes(cls, document))


class Content(EmbeddedModel, metaclass=ContentBase):
    """Base of all content types. What is not a field is asked of the class."""

    # The value of `metadata.type`: the class's name in kebab-case unless it is given.
    type_name: ClassVar[str]
    # What an editor reads who chooses a type: the first line of the class's docstring unless it is given.
    description: ClassVar[str | Promise]
    # The section types that may hold it: classes, which stand for what extends them too, or names. The top level is a folder.
    stands_in: ClassVar[Sequence["type[Content] | str"]] = ()
    # Templates of readers' pages: nodes/<type>.html, else this one.
    template: ClassVar[str] = "nodes/basic-page.html"
    # What it is in the words of https://schema.org.
    schema_org: ClassVar[str] = "Article"
    is_section: ClassVar[bool] = False
    # Whether readers see when it was published, and what was before and after it.
    is_dated: ClassVar[bool] = False
    # Whether it begins with a file, and stands among those in GridFS.
    is_file: ClassVar[bool] = False
    # How a section lists what it holds; "" for what is no section.
    lists: ClassVar[str] = ""
    # Of a section: how many of what it lists stand on one page of it, where that is not the site's setting.
    page_size: ClassVar[int | None] = None
    # Of a section: how many pages, sections or photos may stand in it; None for any number.
    most: ClassVar[int | None] = None
    # The comment policy of its pages, of a section of all that stands in it, where editors choose none; "" for that of the
    # section above, or the site's.
    comment_policy: ClassVar[str] = ""
    # Whether it tells of an author: what readers see under the names that it has is listed below it.
    is_of_author: ClassVar[bool] = False
    # In which storage layout the discussions of its pages, of a section of all that stands in it, are begun; "" for that of the
    # section above, or the one in settings.
    comment_layout: ClassVar[str] = ""
    # The names of the fields that lists filter by: texts, numbers, dates, yes or no, and lists of these.
    facets: ClassVar[Sequence[str]] = ()
    # The name of the field with the date by which a section that lists what is upcoming does so.
    date_field: ClassVar[str] = ""
    # The names of the fields that the admin's list has columns for when it is narrowed to the type.
    list_display: ClassVar[Sequence[str]] = ()
    # The names of the fields whose words search weighs as those of the title, or of the tags; of all others, as of the text.
    searched_as_title: ClassVar[Sequence[str]] = ()
    searched_as_tags: ClassVar[Sequence[str]] = ()
    # False of what is stored under a type that no installed app declares.
    is_installed: ClassVar[bool] = True
    # Which version of the type's fields this is. Older documents go through the upgraders, one a version.
    schema_version: ClassVar[int] = 1
    # (version that it takes, upgrader) of each function that `upgrade` declares.
    upgraders: ClassVar[Sequence[tuple[int, Upgrader]]] = ()
    # In templates the class itself is meant, not one of its instances.
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
        """What the type is called."""
        label: str | Promise = cls._meta.verbose_name
        return label

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the detail that a stored one, or the part of it that a projection left, stands for."""
        return cls(**values.attributes(cls, document))

    def linked_data(self) -> Mapping[str, Any]:
        """Return what the fields say in the words of https://schema.org: {"recipeYield": 2}. It joins what every page says,
        and stands for it where both say something; what is empty is left out, so that None takes a word away."""
        return {}

    @classmethod
    def may_stand_in(cls, section: "type[Content]") -> bool:
        """Return whether nodes of this type may stand in sections of another."""
        return any(
            section.type_name == holder if isinstance(holder, str) else issubclass(section, holder)
            for holder in cls.stands_in
        )

    @classmethod
    def templates(cls) -> Collection[str]:
        """Return the names of the templates for readers, the first that is there to be taken."""
        return [f"nodes/{cls.type_name}.html", cls.template]


class Written(Content):
    """Base of all that is read as text."""

    text = models.TextField(_("Text"), blank=True, default="")
    format = models.CharField(
        _("Written in"), max_length=20, default=MARKDOWN, choices=[(MARKDOWN, "Markdown"), (HTML, "HTML")]
    )
    comments = models.CharField(_("Comments"), max_length=20, blank=True)
    # What stands for it in lists, above its text and where it is shared. `derived.picture` is a copy, which lists read.
    picture = PhotoField(
        _("Picture"), null=True, blank=True, help_text=_("Above the text, in lists, and where the page is shared.")
    )
    # What search engines and link previews say in place of the title and the summary.
    seo_title = models.CharField(
        _("SEO title"),
        max_length=300,
        blank=True,
        default="",
        help_text=_("Search engines show about 60 characters. Left empty, the title serves."),
    )
    seo_description = models.TextField(
        _("SEO description"),
        blank=True,
        default="",
        help_text=_("Search engines show about 160 characters. Left empty, the summary serves."),
    )
    # Where it was imported from, for the next import.
    source = models.JSONField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True


class Entry(Written):
    """Base of what stands in a section that lists it by date, the newest first."""

    stands_in = ("blog",)
    template = "nodes/blog-entry.html"
    schema_org = "BlogPosting"
    is_dated = True

    is_pinned = models.BooleanField(
        _("Pinned"), default=False, help_text=_("It stands first in its section, before newer posts.")
    )

    class Meta:
        abstract = True


class Page(Written):
    """Base of what stands by itself, in a folder or at the top level."""

    stands_in = ("folder",)

    class Meta:
        abstract = True


class Section(Written):
    """Base of what others stand in."""

    stands_in = ("folder",)
    schema_org = "CollectionPage"
    is_section = True
    lists = NEWEST
    # Where none is given: the one of its way to list.
    template = ""

    class Meta:
        abstract = True

    @classmethod
    def templates(cls) -> Collection[str]:
        """Return the names of the templates for readers, the first that is there to be taken."""
        return [f"nodes/{cls.type_name}.html", cls.template or f"nodes/{LISTED_BY[cls.lists]}.html"]


class Missing(Written):
    """Stands for a type that no installed app declares: its nodes are kept, and shown to editors alone."""

    type_name = ""
    is_installed = False

    class Meta:
        verbose_name = _("Type that is not installed")
