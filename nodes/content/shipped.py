"""The content types that come with the site."""

from django.db import models
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import ArrayField

from nodes.content.base import BY_NAME, PHOTOS, Content, Entry, Page, Section
from nodes.content.registry import register


@register
class Folder(Section):
    """Holds pages and other sections."""

    description = _("Holds pages and other sections.")
    lists = BY_NAME

    class Meta:
        verbose_name = _("Folder")


@register
class Blog(Section):
    """Holds posts, the newest first."""

    description = _("Holds posts, the newest first.")
    schema_org = "Blog"

    class Meta:
        verbose_name = _("Blog")


@register
class Gallery(Section):
    """Holds photos."""

    description = _("Holds photos.")
    schema_org = "ImageGallery"
    lists = PHOTOS

    class Meta:
        verbose_name = _("Gallery")


@register
class BasicPage(Page):
    """Stands by itself, in a folder or at the top level."""

    description = _("Stands by itself, in a folder or at the top level.")

    class Meta:
        verbose_name = _("Page")


@register
class BlogEntry(Entry):
    """Part of a blog, with a date."""

    description = _("Part of a blog, with a date.")

    class Meta:
        verbose_name = _("Blog post")


@register
class Photo(Content):
    """A photo: its file as it is shown, and what editors say of it."""

    description = ""
    stands_in = (Gallery,)
    template = "nodes/photo.html"
    schema_org = "ImageObject"
    is_dated = True
    is_file = True

    content_type = models.CharField(max_length=50, editable=False)
    filename = models.CharField(max_length=255, editable=False)
    resolution = ArrayField(models.IntegerField(), size=2, editable=False)
    size = models.BigIntegerField(editable=False)
    sha256 = models.CharField(max_length=64, editable=False)
    dhash = models.CharField(max_length=16, blank=True, editable=False)
    alt = models.CharField(_("Alternative text"), max_length=500, blank=True)
    focal = ArrayField(models.FloatField(), size=2, null=True, blank=True, verbose_name=_("Focal point"))
    # [{n, v}]: values of several types, searched by $elemMatch.
    exif = ArrayField(models.JSONField(), default=list, blank=True, editable=False)
    comments = models.CharField(_("Comments"), max_length=20, blank=True)

    class Meta:
        verbose_name = _("Photo")


PHOTO = Photo.type_name
