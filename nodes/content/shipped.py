"""The built-in content types."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import ArrayField

from nodes.content.base import BY_NAME, PHOTOS, Content, Entry, Page, Section
from nodes.content.registry import register

# Minimum width and height of a crop, as fractions of the photo.
LEAST_CROP = 0.01
# The choices for the rotation, in degrees clockwise.
ROTATIONS = [(90, _("90° clockwise")), (180, _("180°")), (270, _("90° counterclockwise"))]


@register
class Folder(Section):
    """A section that contains pages and other sections."""

    description = _("Contains pages and other sections.")
    lists = BY_NAME

    class Meta:
        verbose_name = _("Folder")


@register
class Blog(Section):
    """A section that contains posts, newest first."""

    description = _("Contains posts, newest first.")
    schema_org = "Blog"

    class Meta:
        verbose_name = _("Blog")


@register
class Gallery(Section):
    """A section that contains photos."""

    description = _("Contains photos.")
    schema_org = "ImageGallery"
    lists = PHOTOS

    class Meta:
        verbose_name = _("Gallery")


@register
class BasicPage(Page):
    """A single page in a folder or at the top level."""

    description = _("A single page, in a folder or at the top level.")

    class Meta:
        verbose_name = _("Page")


@register
class BlogEntry(Entry):
    """A dated post in a blog."""

    description = _("A dated entry in a blog.")

    class Meta:
        verbose_name = _("Blog post")


def check_crop(value: Sequence[float]) -> None:
    """Raise ValidationError if a crop, [left, top, width, height], is too small or extends beyond the photo."""
    left, top, width, height = value
    if not (left >= 0 and top >= 0 and width >= LEAST_CROP and height >= LEAST_CROP):
        raise ValidationError(_("The crop is too small. Choose a larger part of the photo."))
    # The sum of rounded numbers can be slightly larger than 1.
    if left + width > 1.0001 or top + height > 1.0001:
        raise ValidationError(_("The crop extends beyond the photo. Choose a part inside the photo."))


@register
class PhotoContent(Content):
    """A photo: the properties of its current file, and the description that editors have written."""

    type_name = "photo"
    description = ""
    template = "nodes/photo.html"
    schema_org = "ImageObject"
    is_dated = True
    is_file = True
    search_weight = 0.8

    content_type = models.CharField(max_length=50, editable=False)
    filename = models.CharField(max_length=255, editable=False)
    resolution = ArrayField(models.IntegerField(validators=[MinValueValidator(1)]), size=2, editable=False)
    size = models.BigIntegerField(editable=False)
    sha256 = models.CharField(max_length=64, editable=False)
    dhash = models.CharField(max_length=16, blank=True, editable=False)
    # The average colour, as "#rrggbb". It is empty for photos with transparency, and for photos that were stored before
    # this field existed.
    colour = models.CharField(
        max_length=7, blank=True, editable=False, validators=[RegexValidator(r"\A#[0-9a-f]{6}\Z")]
    )
    alt = models.CharField(_("Alternative text"), max_length=500, blank=True)
    focal = ArrayField(models.FloatField(), size=2, null=True, blank=True, verbose_name=_("Focal point"))
    # Left, top, width and height as fractions of the photo. If there is no crop, the whole photo is shown.
    crop = ArrayField(
        models.FloatField(),
        size=4,
        null=True,
        blank=True,
        verbose_name=_("Crop"),
        validators=[check_crop],
    )
    # The rotation in degrees clockwise. It is applied after cropping.
    rotation = models.IntegerField(
        _("Rotation"),
        null=True,
        blank=True,
        choices=ROTATIONS,
    )
    # Properties of the file as [{n, v}], which $elemMatch can query. The values have various types.
    exif = ArrayField(models.JSONField(), default=list, blank=True, editable=False)
    comments = models.CharField(_("Comments"), max_length=20, blank=True)

    class Meta:
        verbose_name = _("Photo")

    @classmethod
    def may_stand_in(cls, section: type[Content]) -> bool:
        return section.lists == PHOTOS


@register
class AuthorPage(Page):
    """A page about an author, which is shown above the list of the author's posts."""

    type_name = "author"
    description = _("Introduces an author above the list of that author's posts.")
    schema_org = "ProfilePage"
    is_of_author = True

    names = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        verbose_name=_("Other names"),
        help_text=_(
            "Other names under which this author publishes posts, one per line. Leave empty if the title is the "
            "author's only name."
        ),
    )

    class Meta:
        verbose_name = _("Author")


@register
class FileContent(Content):
    """A file to download or play, such as a PDF, a recording or an archive: the properties of its current bytes."""

    type_name = "file"
    description = ""
    is_file = True

    content_type = models.CharField(max_length=200, editable=False)
    filename = models.CharField(max_length=255, editable=False)
    size = models.BigIntegerField(editable=False)
    sha256 = models.CharField(max_length=64, editable=False)

    class Meta:
        verbose_name = _("File")

    @classmethod
    def may_stand_in(cls, section: type[Content]) -> bool:
        return True


PHOTO = PhotoContent.type_name
FILE = FileContent.type_name
