"""System checks: what is set for photos, and which host absolute addresses have."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured

from nodes.assets.limits import limits


@register()
def check_photos(**kwargs: Any) -> list[CheckMessage]:
    """nodes.E001: the setting PHOTOS has a key that nothing reads; nodes.E002: there is no width to make copies in."""
    try:
        found = limits()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="nodes.assets.limits lists the keys.", id="nodes.E001")]
    if not found.widths or not found.squares:
        hint = "Set PHOTOS['WIDTHS'] and PHOTOS['SQUARES'] to at least one number of pixels each."
        return [Error("PHOTOS leaves no size to show photos in.", hint=hint, id="nodes.E002")]
    return []


@register(Tags.security, deploy=True)
def check_absolute_addresses(**kwargs: Any) -> list[CheckMessage]:
    """W001: a wildcard in ALLOWED_HOSTS lets a request choose the host of absolute addresses, unless SITE_URL names it."""
    wild = [host for host in settings.ALLOWED_HOSTS if host == "*" or host.startswith(".")]
    if settings.SITE_URL or not wild:
        return []
    return [
        Warning(
            f"ALLOWED_HOSTS has {wild[0]!r}, so that whoever asks chooses the host of addresses in feeds and sitemaps.",
            hint="Set SITE_URL, such as https://example.org.",
            id="nodes.W001",
        )
    ]
