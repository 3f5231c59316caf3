"""Content types for tests: registered while a test needs them."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from nodes.content import (
    Blog,
    Content,
    Entry,
    MarkdownField,
    NodeField,
    Part,
    PhotoField,
    Section,
    register,
    unregister,
)
from nodes.models import tree, version_cache

COURSES = [("starter", "Starter"), ("main", "Main course"), ("dessert", "Dessert")]


class Amount(Part):
    """How much: nested in an ingredient's place."""

    number = models.DecimalField(max_digits=6, decimal_places=2, default=1)
    unit = models.CharField(max_length=20, blank=True)


class Step(Part):
    """One step of a recipe."""

    what = models.CharField(max_length=200)
    minutes = models.PositiveSmallIntegerField(default=0)


class Recipe(Entry):
    """A dish that can be cooked from its page.

    With a field of every class that is declared often.
    """

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
    picture = PhotoField(null=True, blank=True)

    class Meta:
        verbose_name = "recipe"


class Cookbook(Section):
    """Holds recipes."""


@contextmanager
def registered(*types: type[Content]) -> Iterator[None]:
    """Have content types installed within the block."""
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
