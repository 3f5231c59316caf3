"""{% load photos %}: photos as pictures of the size that the layout needs."""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from nodes import kinds, photo_access, photo_addresses, photo_labels
from nodes.admin import writing
from nodes.admin.fields import section_choices
from nodes.models import Photo

register = template.Library()


@register.simple_tag
def photo_picture(photo: Photo, sizes: str = photo_addresses.SIZES, *, eager: bool = False) -> SafeString:
    """{% photo_picture photo sizes="50vw" eager=True %}: the whole photo, WebP and JPEG, in the widths that are made."""
    return photo_addresses.picture(photo, sizes=sizes, eager=eager)


@register.simple_tag
def photo_thumbnail(photo: Photo, width: int, alt: str | None = None) -> SafeString:
    """{% photo_thumbnail photo 160 %}: the photo cut square around its focal point."""
    return photo_addresses.thumbnail(photo, width, alt=alt)


@register.simple_tag
def photo_original(photo: Photo) -> str:
    """{% photo_original photo %}: the path of the photo's file as it was uploaded, but for what its metadata gave away."""
    return photo_addresses.original(photo)


@register.simple_tag
def photo_copy(photo: Photo, width: int) -> str:
    """{% photo_copy photo 1280 %}: the path of a JPEG in one of the widths that are made."""
    return photo_addresses.copy(photo, width)


@register.simple_tag
def photo_srcset(photo: Photo) -> str:
    """{% photo_srcset photo %}: the whole photo as WebP, in the widths that are made, for a script to show."""
    return photo_addresses.srcset(photo, "webp")


@register.simple_tag
def photo_facts(photo: Photo) -> list[tuple[Any, Any, str]]:
    """{% photo_facts photo as facts %}: (label, value, query) of what the camera wrote and readers may want to know."""
    return photo_labels.linked_facts(photo)


@register.inclusion_tag("nodes/admin/_pictures.html", takes_context=True)
def picture_dialog(context: Any) -> dict[str, Any]:
    """{% picture_dialog %}: asks for gallery and alternative text of a picture that was dropped or pasted into a text."""
    user = context["user"]
    galleries = section_choices(user, kinds.PHOTO) if photo_access.may_add(user) else []
    return {
        "galleries": galleries,
        "may_publish": photo_access.may_publish(user),
        "csrf_token": context.get("csrf_token"),
    }


@register.inclusion_tag("nodes/admin/_editor.html")
def editor_settings() -> dict[str, Any]:
    """{% editor_settings %}: what the script of the editor of Markdown needs to know, and its help."""
    return {"words": {**writing.words(), "show": reverse("admin:nodes_node_show_text")}}
