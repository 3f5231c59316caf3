"""The content types that come with the site."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import ArrayField

from nodes.content.base import BY_NAME, PHOTOS, Content, Entry, Page, Section
from nodes.content.registry import register

# The least that a photo may show of its picture, in parts of width and height.
LEAST_CROP = 0.01
# Degrees clockwise.
ROTATIONS = [(90, _("a quarter turn right")), (180, _("upside down")), (270, _("a quarter turn left"))]


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


def check_crop(value: Sequence[float]) -> None:
    """Raise ValidationError for a part of a picture, [left, top, width, height], that is not within it or hardly to be seen."""
    left, top, width, height = value
    if not (left >= 0 and top >= 0 and width >= LEAST_CROP and height >= LEAST_CROP):
        raise ValidationError(_("The part of the picture that is shown is too small."))
    # Sums of what was rounded may be a little too large.
    if left + width > 1.0001 or top + height > 1.0001:
        raise ValidationError(_("The part that is shown reaches beyond the picture."))


@register
class PhotoContent(Content):
    """A photo: its file as it is shown, and what editors say of it."""

    type_name = "photo"
    description = ""
    template = "nodes/photo.html"
    schema_org = "ImageObject"
    is_dated = True
    is_file = True

    content_type = models.CharField(max_length=50, editable=False)
    filename = models.CharField(max_length=255, editable=False)
    resolution = ArrayField(models.IntegerField(validators=[MinValueValidator(1)]), size=2, editable=False)
    size = models.BigIntegerField(editable=False)
    sha256 = models.CharField(max_length=64, editable=False)
    dhash = models.CharField(max_length=16, blank=True, editable=False)
    # "#rrggbb", on average; empty for what something shines through, and of photos stored before this was kept.
    colour = models.CharField(
        max_length=7, blank=True, editable=False, validators=[RegexValidator(r"\A#[0-9a-f]{6}\Z")]
    )
    alt = models.CharField(_("Alternative text"), max_length=500, blank=True)
    focal = ArrayField(models.FloatField(), size=2, null=True, blank=True, verbose_name=_("Focal point"))
    # Left, top, width, height in parts of the whole picture; empty shows all of it.
    crop = ArrayField(
        models.FloatField(),
        size=4,
        null=True,
        blank=True,
        verbose_name=_("Part that is shown"),
        validators=[check_crop],
    )
    # Degrees clockwise, after the crop.
    rotation = models.IntegerField(
        _("Turned"),
        null=True,
        blank=True,
        choices=ROTATIONS,
    )
    # [{n, v}]: values of several types, searched by $elemMatch.
    exif = ArrayField(models.JSONField(), default=list, blank=True, editable=False)
    comments = models.CharField(_("Comments"), max_length=20, blank=True)

    class Meta:
        verbose_name = _("Photo")

    @classmethod
    def may_stand_in(cls, section: type[Content]) -> bool:
        return section.lists == PHOTOS


@register
class AuthorPage(Page):
    """Tells who an author is, above all that the author wrote."""

    type_name = "author"
    description = _("Tells who an author is, above all that the author wrote.")
    schema_org = "ProfilePage"
    is_of_author = True

    names = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        verbose_name=_("Also writes as"),
        help_text=_("Other names that posts are signed with, one per line. The title is the first."),
    )

    class Meta:
        verbose_name = _("Author")


PHOTO = PhotoContent.type_name
