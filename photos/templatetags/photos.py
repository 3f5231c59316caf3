"""{% load photos %}: photos as pictures of the size that the layout needs."""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from nodes import access
from nodes.access import section_choices
from nodes.content import PHOTO
from nodes.models import Photo
from nodes.selectors import stored_photos
from photos import addresses, labels, pictures
from photos.addresses import Shared

register = template.Library()


@register.simple_tag
def photo_picture(photo: Photo, sizes: str = addresses.SIZES, *, eager: bool = False) -> SafeString:
    """{% photo_picture photo sizes="50vw" eager=True %}: the whole photo, WebP and JPEG, in the widths that are made."""
    return addresses.picture(photo, sizes=sizes, eager=eager)


@register.simple_tag
def photo_thumbnail(photo: Photo, width: int, alt: str | None = None, *, eager: bool = False) -> SafeString:
    """{% photo_thumbnail photo 160 %}: the photo cut square around its focal point. `eager`: it is seen before scrolling."""
    return addresses.thumbnail(photo, width, alt=alt, eager=eager)


# How wide the boxes of photos are in lists: of the newest post, of two in a row, beside words.
_BOXES = {
    "lead": "(min-width: 76rem) 42rem, (min-width: 48rem) 56vw, 88vw",
    "card": "(min-width: 76rem) 34rem, (min-width: 48rem) 46vw, 88vw",
    "row": "(min-width: 40rem) 17rem, 7rem",
}


@register.simple_tag
def photo_crop(photo: Photo, box: str, alt: str | None = None, *, eager: bool = False) -> SafeString:
    """{% photo_crop photo "row" %}: the photo for a box of a list, "lead", "card" or "row", cropped around its focal point."""
    return addresses.crop(photo, sizes=_BOXES[box], alt=alt, eager=eager)


# How wide (pixels) a square photo is in a row of photos, where all of them are equally high.
_ROW = 330


@register.simple_tag
def photo_in_row(photo: Photo, *, eager: bool = False) -> SafeString:
    """{% photo_in_row photo eager=True %}: the photo for a row, next to nothing cut off. `eager`: seen before scrolling."""
    shape = addresses.shape(photo)
    return addresses.crop(photo, sizes=f"min(88vw, {shape * _ROW // 100}px)", widest=shape / 100, eager=eager)


@register.filter
def photo_shape(photo: Photo) -> int:
    """{{ photo|photo_shape }}: its width to its height in hundredths, the nearest for which the style sheet has a class."""
    return addresses.shape(photo)


@register.simple_tag
def share_picture() -> Shared | None:
    """{% share_picture as picture %}: the site's picture for link previews of pages that have none."""
    photo = pictures.of_site()
    return addresses.shared(photo) if photo else None


@register.simple_tag
def photo_logo(photo: Photo, alt: str, css_class: str) -> SafeString:
    """{% photo_logo photo site.name "logo" %}: the photo as a logo, which keeps what shines through it."""
    return addresses.logo(photo, alt=alt, css_class=css_class)


@register.filter
def photo_size(photo: Photo) -> tuple[int, int]:
    """{{ photo|photo_size }}: the width and height, in pixels, of what is shown of the photo."""
    return addresses.size(photo)


@register.filter
def photo_is_whole(photo: Photo) -> bool:
    """{{ photo|photo_is_whole }}: whether it is shown as its file is, not cropped, and not turned by hand."""
    return addresses.is_whole(photo)


@register.simple_tag
def photo_original(photo: Photo) -> str:
    """{% photo_original photo %}: the path of the photo's file as it was uploaded, but for what its metadata gave away.

    Of a photo that was cut, of its largest copy.
    """
    return addresses.original(photo)


@register.simple_tag
def photo_srcset(photo: Photo) -> str:
    """{% photo_srcset photo %}: the whole photo as WebP, in the widths that are made, for a script to show."""
    return addresses.srcset(photo, "webp")


@register.simple_tag
def photo_facts(photo: Photo) -> list[tuple[Any, Any, str]]:
    """{% photo_facts photo as facts %}: (label, value, query) of what the camera wrote and readers may want to know."""
    return labels.facts(photo)


@register.inclusion_tag("editor/_pictures.html", takes_context=True)
def picture_dialog(context: Any, new_photo: Any) -> dict[str, Any]:
    """{% picture_dialog form %}: asks by a form what each picture shows that was dropped or pasted into a text."""
    user = context["user"]
    galleries = section_choices(user, PHOTO) if access.may_add_photos(user) else []
    return {
        "galleries": galleries,
        "last": str(stored_photos.last_gallery(user.pk)) if len(galleries) > 1 else "",
        "blank": new_photo,
        "may_publish": access.may_change_photos(user),
        "csrf_token": context.get("csrf_token"),
    }


@register.inclusion_tag("editor/_editor.html")
def editor_settings() -> dict[str, Any]:
    """{% editor_settings %}: what the script of the editor of Markdown needs to know, and its help."""
    return {"words": {**_words(), "show": reverse("admin:nodes_node_show_typed")}}


def _words() -> dict[str, str]:
    """Return what the editor says, in the language of the site, for its script."""
    return {
        "bold": _("Bold"),
        "italic": _("Italic"),
        "heading": _("Heading"),
        "quote": _("Quotation"),
        "unordered": _("List"),
        "ordered": _("Numbered list"),
        "code": _("Code"),
        "link": _("Link"),
        "photo": _("Photo"),
        "table": _("Table"),
        "insert": _("Insert"),
        "undo": _("Undo"),
        "redo": _("Redo"),
        "preview": _("Preview beside the text"),
        "fullscreen": _("Full screen"),
        "help": _("Help and keys"),
        "text": _("Text"),
        "tools": _("Formatting"),
        "shown": _("Preview"),
        "failed": _("The preview cannot be shown now. Your text is safe: save it as usual."),
        "words": _("%(n)s words"),
        "minutes": _("%(n)s min to read"),
        "column": _("Column"),
        "cell": _("Text"),
    }
