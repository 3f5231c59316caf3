"""A content type and the means to extend its admin, for tests of extensions."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField

from editor.extensions import ContentAdmin, register, unregister
from nodes.content import Blog, Entry, Part


class Act(Part):
    """A band that plays."""

    name = models.CharField(max_length=100)


class Gig(Entry):
    """A concert in a club."""

    stands_in = [Blog]
    list_display = ["hall"]

    hall = models.CharField(max_length=50, blank=True)
    doors = models.CharField(max_length=50, blank=True)
    starts = models.DateTimeField(null=True, blank=True)
    seats = models.PositiveSmallIntegerField(default=10)
    moods = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    notes = models.TextField(blank=True)
    acts = EmbeddedModelArrayField(Act, null=True, blank=True)


@contextmanager
def extended(*extensions: type) -> Iterator[None]:
    """Register extensions of the admin for a `with` block."""
    for extension in extensions:
        register(extension)
    try:
        yield
    finally:
        for extension in extensions:
            unregister(extension)


def gig_admin(**attributes):
    """Register a ContentAdmin for Gig with these attributes for a `with` block."""
    return extended(type("GigAdmin", (ContentAdmin,), {"content_types": [Gig], **attributes}))
