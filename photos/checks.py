"""System checks: what is set for photos."""

from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from photos.assets.limits import limits


@register()
def check_photos(**kwargs: Any) -> list[CheckMessage]:
    """nodes.E001: the setting PHOTOS has a key that nothing reads; nodes.E002: there is no width to make copies in."""
    try:
        found = limits()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="photos.assets.limits lists the keys.", id="nodes.E001")]
    if not found.widths or not found.squares:
        hint = "Set PHOTOS['WIDTHS'] and PHOTOS['SQUARES'] to at least one number of pixels each."
        return [Error("PHOTOS leaves no size to show photos in.", hint=hint, id="nodes.E002")]
    return []
