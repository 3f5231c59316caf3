"""Content types for tests. They are registered only while a test needs them."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from nodes.content import (
    BY_HAND,
    UPCOMING,
    Blog,
    Content,
    Entry,
    MarkdownField,
    NodeField,
    Page,
    Part,
    PhotoField,
    Section,
    get,
    register,
    unregister,
    upgrade,
)
from nodes.models import tree, version_cache

COURSES = [("starter", "Starter"), ("main", "Main course"), ("dessert", "Dessert")]


class Amount(Part):
    """A number and a unit, embedded in a recipe."""

    number = models.DecimalField(max_digits=6, decimal_places=2, default=1)
    unit = models.CharField(max_length=20, blank=True)


class Step(Part):
    """A step of a recipe."""

    what = models.CharField(max_length=200)
    minutes = models.PositiveSmallIntegerField(default=0)


class Recipe(Entry):
    """A dish with a recipe."""

    stands_in = [Blog, "cookbook"]
    facets = ["course", "is_vegan", "ingredients"]

    servings = models.PositiveSmallIntegerField(default=2)
    course = models.CharField(max_length=20, choices=COURSES)
    ingredients = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    method = MarkdownField(blank=True)
    since = models.DateField(null=True, blank=True)
    tasted = models.DateTimeField(null=True, blank=True)
    price = models.DecimalField(max_digits=6, decimal_places=2, null=True, blank=True)
    is_vegan = models.BooleanField(default=False)
    yields = EmbeddedModelField(Amount, null=True, blank=True)
    steps = EmbeddedModelArrayField(Step, null=True, blank=True)
    goes_with = NodeField(null=True, blank=True)

    class Meta:
        verbose_name = "recipe"


class Cookbook(Section):
    """A section for recipes."""


class Handbook(Section):
    """A section for chapters, news and handbooks, ordered by hand."""

    stands_in = ["folder", "handbook"]
    lists = BY_HAND


class Chapter(Page):
    """A page of a handbook."""

    stands_in = ["handbook", "folder"]


class News(Entry):
    """A dated page of a handbook."""

    stands_in = ["handbook"]


class Piece(Part):
    """A part with a field of every class that parts can contain."""

    name = models.CharField(max_length=60)
    said = models.TextField(blank=True)
    kind = models.CharField(max_length=20, choices=COURSES, default="main")
    number = models.IntegerField(default=0)
    price = models.DecimalField(max_digits=8, decimal_places=3, null=True, blank=True)
    on = models.DateField(null=True, blank=True)
    at = models.TimeField(null=True, blank=True)
    moment = models.DateTimeField(null=True, blank=True)
    is_so = models.BooleanField(default=False)
    names = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    page = NodeField(null=True, blank=True)


class Remark(Part):
    """A part at depth three."""

    words = models.TextField(blank=True)
    number = models.IntegerField(default=0)
    is_so = models.BooleanField(default=True)
    target = NodeField(null=True, blank=True)


class Group(Part):
    """A part at depth two, which contains parts."""

    name = models.CharField(max_length=60, blank=True)
    remark = EmbeddedModelField(Remark, null=True, blank=True)
    remarks = EmbeddedModelArrayField(Remark, null=True, blank=True)


class Album(Part):
    """A part that contains parts."""

    title = models.CharField(max_length=60)
    method = MarkdownField(blank=True)
    groups = EmbeddedModelArrayField(Group, null=True, blank=True)


class Everything(Entry):
    """A type with a field of every class that types can declare."""

    stands_in = [Blog]
    facets = ["line", "kind", "whole", "price", "on", "is_so", "lines", "numbers"]
    unique_together_in_section = [("key", "whole")]

    line = models.CharField(max_length=80, blank=True)
    words = models.TextField(blank=True)
    method = MarkdownField(blank=True)
    kind = models.CharField(max_length=20, choices=COURSES, default="main")
    level = models.IntegerField(choices=[(1, "One"), (2, "Two")], null=True, blank=True)
    whole = models.IntegerField(default=0)
    large = models.BigIntegerField(null=True, blank=True)
    price = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    part_of_one = models.FloatField(null=True, blank=True)
    on = models.DateField(null=True, blank=True)
    at = models.TimeField(null=True, blank=True)
    moment = models.DateTimeField(null=True, blank=True)
    lasts = models.DurationField(null=True, blank=True)
    is_so = models.BooleanField(default=False)
    may_be = models.BooleanField(null=True, blank=True)
    mail = models.EmailField(blank=True)
    address = models.URLField(blank=True)
    short = models.SlugField(blank=True)
    key = models.UUIDField(null=True, blank=True)
    lines = ArrayField(models.CharField(max_length=80), default=list, blank=True)
    numbers = ArrayField(models.IntegerField(), default=list, blank=True)
    days = ArrayField(models.DateField(), null=True, blank=True)
    prices = ArrayField(models.DecimalField(max_digits=6, decimal_places=1), null=True, blank=True)
    piece = EmbeddedModelField(Piece, null=True, blank=True)
    pieces = EmbeddedModelArrayField(Piece, null=True, blank=True)
    album = EmbeddedModelField(Album, null=True, blank=True)
    albums = EmbeddedModelArrayField(Album, null=True, blank=True)
    page = NodeField(null=True, blank=True)
    photo = PhotoField(null=True, blank=True)


class Concert(Page):
    """A page with a start time."""

    stands_in = ["season"]
    date_field = "starts"
    facets = ["hall"]

    starts = models.DateTimeField(null=True, blank=True)
    hall = models.CharField(max_length=50, blank=True)
    programme = models.TextField(blank=True)


class Season(Section):
    """A section that lists concerts by their start time."""

    lists = UPCOMING
    page_size = 2


@contextmanager
def registered(*types: type[Content]) -> Iterator[None]:
    """Register content types for the duration of the block."""
    for type in types:
        register(type)
    tree.clear()
    try:
        yield
    finally:
        for type in types:
            unregister(type)
        tree.clear()
        version_cache.clear()


class OldDish(Entry):
    """The first version of an app's content type."""

    type_name = "dish"

    serves = models.PositiveSmallIntegerField(default=2)
    amount = models.CharField(max_length=50, blank=True)
    ingredients = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    stars = models.PositiveSmallIntegerField(null=True, blank=True)
    notes = models.TextField(blank=True)


class FacetedDish(Entry):
    """The first version of the type, with an additional facet."""

    type_name = "dish"
    facets = ["amount"]

    serves = models.PositiveSmallIntegerField(default=2)
    amount = models.CharField(max_length=50, blank=True)
    ingredients = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    stars = models.PositiveSmallIntegerField(null=True, blank=True)
    notes = models.TextField(blank=True)


class Ingredient(Part):
    """An ingredient of a dish."""

    name = models.CharField(max_length=200)
    amount = models.CharField(max_length=50, blank=True)


class NewDish(Entry):
    """A later version of the content type, with fields renamed, removed, split, nested and added."""

    type_name = "dish"
    schema_version = 3

    servings = models.PositiveSmallIntegerField(default=2)
    number = models.CharField(max_length=20, blank=True)
    unit = models.CharField(max_length=20, blank=True)
    ingredients = EmbeddedModelArrayField(Ingredient, default=list, blank=True)
    is_vegan = models.BooleanField(default=False)
    notes = models.TextField(blank=True)

    @upgrade(from_version=1)
    def rename(detail):
        if "serves" in detail:
            detail["servings"] = detail.pop("serves")
        detail.pop("stars", None)
        return detail

    @upgrade(from_version=2)
    def split(detail):
        amount = detail.pop("amount", "")
        names = detail.get("ingredients") or []
        if amount == "unreadable":
            raise ValueError(amount)
        number, _space, unit = amount.partition(" ")
        return {**detail, "number": number, "unit": unit, "ingredients": [{"name": name} for name in names]}


@contextmanager
def installed(type: type[Content]) -> Iterator[None]:
    """Replace the content type with the same name until the block ends, as in a process of another release."""
    replaced = get(type.type_name)
    unregister(replaced)
    try:
        with registered(type):
            yield
    finally:
        if replaced.is_installed:
            register(replaced)
