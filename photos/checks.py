"""System checks for the PHOTOS setting."""

from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from photos.assets.limits import limits


@register()
def check_photos(**kwargs: Any) -> list[CheckMessage]:
    """Return nodes.E001 if PHOTOS has an unknown key, or nodes.E002 if it contains no widths for copies."""
    try:
        configured = limits()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="See photos/assets/limits.py for the valid keys.", id="nodes.E001")]
    if not configured.widths or not configured.squares:
        hint = "Set PHOTOS['WIDTHS'] and PHOTOS['SQUARES'] to at least one width in pixels each."
        return [Error("PHOTOS has an empty list of sizes.", hint=hint, id="nodes.E002")]
    return []
