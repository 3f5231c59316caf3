"""Template tags (`{% load photos %}`) that show photos as HTML in the sizes that the layout needs."""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from nodes import access
from nodes.access import TOP, section_choices
from nodes.content import PHOTO
from nodes.models import Photo
from nodes.selectors import stored_photos
from photos import addresses, labels, pictures
from photos.addresses import ShareImage

register = template.Library()


@register.simple_tag
def photo_picture(
    photo: Photo, sizes: str = addresses.SIZES, *, alt: str | None = None, eager: bool = False
) -> SafeString:
    """Show the whole photo as AVIF, WebP or JPEG in all widths: `{% photo_picture photo sizes="50vw" eager=True %}`.

    `alt` replaces the photo's own alternative text, unless it is empty. Use `eager` if the photo is visible without
    scrolling.
    """
    return addresses.picture(photo, sizes=sizes, alt=alt or None, eager=eager)


@register.simple_tag
def photo_thumbnail(photo: Photo, width: int, alt: str | None = None, *, eager: bool = False) -> SafeString:
    """Show a square part of the photo around its focal point: `{% photo_thumbnail photo 160 %}`.

    Use `eager` if the photo is visible without scrolling.
    """
    return addresses.thumbnail(photo, width, alt=alt, eager=eager)


# The widths of photo boxes in lists: for the newest post, for three posts side by side, and next to text.
_BOXES = {
    "lead": "(min-width: 76rem) 46rem, (min-width: 60rem) 58vw, 92vw",
    "card": "(min-width: 76rem) 24rem, (min-width: 60rem) 30vw, (min-width: 48rem) 46vw, 88vw",
    "row": "(min-width: 40rem) 17rem, 7rem",
}


@register.simple_tag
def photo_crop(photo: Photo, box: str, alt: str | None = None, *, eager: bool = False) -> SafeString:
    """Show the photo in a box ("lead", "card", "row"), cropped around its focal point: `{% photo_crop photo "row" %}`.

    Use `eager` if the photo is visible without scrolling.
    """
    return addresses.cropped_picture(photo, sizes=_BOXES[box], alt=alt, eager=eager)


# The width, in pixels, of a square photo in a row of photos. All photos in a row have the same height.
_ROW = 330


@register.simple_tag
def photo_in_row(photo: Photo, *, eager: bool = False) -> SafeString:
    """Show the photo in a row of photos, nearly uncropped: `{% photo_in_row photo %}`.

    Use `eager` if the photo is visible without scrolling.
    """
    shape = addresses.nearest_shape(photo)
    sizes = f"min(88vw, {shape * _ROW // 100}px)"
    return addresses.cropped_picture(photo, sizes=sizes, widest=shape / 100, eager=eager)


@register.filter
def photo_shape(photo: Photo) -> int:
    """Return the closest aspect ratio that has a class in the style sheet, in hundredths: `{{ photo|photo_shape }}`."""
    return addresses.nearest_shape(photo)


@register.simple_tag
def share_picture() -> ShareImage | None:
    """Return the site's photo for link previews of pages without a photo: `{% share_picture as picture %}`."""
    photo = pictures.site_default()
    return addresses.share_image(photo) if photo else None


@register.simple_tag
def photo_logo(photo: Photo, alt: str, css_class: str) -> SafeString:
    """Show the photo as a logo, and keep its transparency: `{% photo_logo photo site.name "logo" %}`."""
    return addresses.logo_picture(photo, alt=alt, css_class=css_class)


@register.filter
def photo_size(photo: Photo) -> tuple[int, int]:
    """Return the width and height, in pixels, of the visible part of the photo: `{{ photo|photo_size }}`."""
    return addresses.size(photo)


@register.filter
def photo_is_whole(photo: Photo) -> bool:
    """Return whether the photo is neither cropped nor rotated by an editor: `{{ photo|photo_is_whole }}`."""
    return addresses.is_whole(photo)


@register.simple_tag
def photo_original(photo: Photo) -> str:
    """Return the path of the photo's stored file: `{% photo_original photo %}`.

    For a cropped or rotated photo, return the path of the largest copy.
    """
    return addresses.original_path(photo)


@register.simple_tag
def photo_srcset(photo: Photo) -> str:
    """Return a srcset of the photo's WebP copies in all widths, for use by a script: `{% photo_srcset photo %}`."""
    return addresses.srcset(photo, "webp")


@register.simple_tag
def photo_facts(photo: Photo) -> list[tuple[Any, Any, str]]:
    """Return (label, value, query) for the properties that the camera recorded: `{% photo_facts photo as facts %}`."""
    return labels.facts(photo)


@register.inclusion_tag("editor/_pictures.html", takes_context=True)
def picture_dialog(context: Any, new_photo: Any) -> dict[str, Any]:
    """Show a form for the alternative text of each photo that an editor adds: `{% picture_dialog form %}`."""
    user = context["user"]
    galleries = section_choices(user, PHOTO) if access.may_add_photos(user) else []
    return {
        "galleries": galleries,
        "last": str(stored_photos.last_gallery(user.pk)) if len(galleries) > 1 else TOP,
        "blank": new_photo,
        "may_publish": access.may_change_photos(user),
        "csrf_token": context.get("csrf_token"),
    }


@register.inclusion_tag("editor/_editor.html", takes_context=True)
def editor_settings(context: Any) -> dict[str, Any]:
    """Show the Markdown editor's help and the settings for its script: `{% editor_settings %}`."""
    nonce = str(context["request"].csp_nonce)
    urls = {"show": reverse("admin:nodes_node_show_typed"), "targets": reverse("admin:nodes_node_targets")}
    return {"words": {**_words(), **urls, "nonce": nonce}}


def _words() -> dict[str, Any]:
    """Return the Markdown editor's interface strings in the active language."""
    return {
        "bold": _("Bold"),
        "italic": _("Italic"),
        "heading": _("Heading"),
        "quote": _("Quote"),
        "unordered": _("List"),
        "ordered": _("Numbered list"),
        "code": _("Code"),
        "link": _("Link"),
        "photo": _("Photo"),
        "table": _("Table"),
        "divider": _("Divider"),
        "footnote": _("Footnote"),
        "insert": _("Insert"),
        "undo": _("Undo"),
        "redo": _("Redo"),
        "source": _("Show Markdown"),
        "preview": _("Side-by-side preview"),
        "fullscreen": _("Full screen"),
        "help": _("Help and shortcuts"),
        "text": _("Text"),
        "tools": _("Formatting"),
        "shown": _("Preview"),
        "failed": _("The preview isn't available right now. Your text is safe. Save it as usual."),
        "word": _("1 word"),
        "words": _("%(n)s words"),
        "minutes": _("%(n)s min read"),
        "column": _("Column"),
        "cell": _("Text"),
        "hint": _("Write, or type / for blocks, [[ for a link"),
        "subheading": _("Subheading"),
        "keys": _(
            "In lists and tables, Tab moves items or goes to the next cell. To leave the text, press Escape and then Tab."
        ),
        "editNote": _("Edit footnote"),
        "writeNote": _("Write footnote"),
        "task": _("Done"),
        "layouts": {
            "Text": _("As wide as the text"),
            "Wide": _("Wider"),
            "Full": _("Full width"),
            "Left": _("Left of the text"),
            "Right": _("Right of the text"),
        },
        "editPhoto": _("Edit caption, alternative text and width"),
        "alt": _("Alternative text: %(alt)s"),
        "noAlt": _("No alternative text"),
        "missing": _("Photo not found: %(source)s"),
        "noTarget": _("Page not found"),
        "noInsert": _("Unknown insert: %(name)s"),
        # CodeMirror's own texts, by their English wording.
        "phrases": {
            "Find": _("Find"),
            "Replace": _("Replace with"),
            "next": _("Next"),
            "previous": _("Previous"),
            "all": _("Select all"),
            "match case": _("Match case"),
            "regexp": _("Regular expression"),
            "by word": _("Whole words"),
            "replace": _("Replace"),
            "replace all": _("Replace all"),
            "close": _("Close"),
            "current match": _("current match"),
            "on line": _("on line"),
            "replaced $ matches": _("replaced $ matches"),
            "replaced match on line $": _("replaced match on line $"),
            "Go to line": _("Go to line"),
            "go": _("Go"),
            "Control character": _("Control character"),
            "Completions": _("Blocks"),
        },
    }
