"""Serve the site's own style sheet, and icons generated from the logo. Their content depends only on their URLs."""

import hashlib
from functools import lru_cache
from urllib.parse import quote

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from nodes.errors import TooBusy
from nodes.models import Photo, look
from nodes.models.stored_site import StoredSettings
from photos import addresses, pictures
from photos.assets import contents, images, reader, renditions
from photos.assets.errors import BadPicture
from photos.assets.limits import limits
from photos.assets.renditions import Spec
from photos.assets.responses import FOR_EVER, NO_STORE

# The background of icons for home screens. Such icons can't be transparent.
BACKGROUND = (0xFD, 0xFC, 0xF9)


def stylesheet_url(settings: StoredSettings) -> str:
    """Return the URL of the style sheet for these settings, or "" if they don't change the theme."""
    name = look.name(settings)
    return f"{reverse('look-sheet', args=[name])}?v={look.digest(name)}" if name else ""


@require_safe
def stylesheet(request: HttpRequest, name: str) -> HttpResponse:
    """Return a style sheet that sets the theme's custom properties."""
    text = look.sheet(name)
    if text is None:
        raise Http404
    return _cached_for_ever(request, text.encode(), "text/css; charset=utf-8")


@require_safe
def icon(request: HttpRequest, content_id: ObjectId, icon: str) -> HttpResponse:
    """Return an icon generated from the site's logo. Other photos have no icons."""
    logo, _dark = pictures.logos()
    name = next(
        (name for name in addresses.ICONS if logo and addresses.icon_path(logo, name) == quote(request.path)), None
    )
    if logo is None or name is None:
        raise Http404
    source = contents.find(logo.pk, content_id, logo.parent_id)
    try:
        if source is None:
            raise Http404
        spec = _source_spec(logo)
        copy = renditions.get_or_make(source, logo.metadata.detail.content_type, spec)
        return _cached_for_ever(request, _render_icon(copy, spec.extension, name), "image/png")
    except TooBusy:
        # Browsers request a tab's icon only once. Until the icon has been generated, redirect to the theme's icon
        # instead of returning an error.
        return HttpResponseRedirect(static("site/icon.svg"), headers={"Cache-Control": NO_STORE})
    except (BadPicture, reader.MissingChunk) as error:
        raise Http404 from error


def _source_spec(logo: Photo) -> Spec:
    """Return the copy of a logo from which icons are generated. If possible, it is as wide as the largest icon."""
    # WebP supports transparency, but its maximum height is smaller than JPEG's.
    extension = "webp" if renditions.widths(addresses.size(logo), "webp") else "jpg"
    widths = renditions.widths(addresses.size(logo), extension)
    width = next((width for width in widths if width >= max(addresses.ICONS.values())), widths[-1])
    return Spec(width, extension, cut=addresses.cut(logo))


@lru_cache(maxsize=8)
def _render_icon(copy: contents.StoredFile, extension: str, name: str) -> bytes:
    with copy.open() as file:
        background = BACKGROUND if name == "touch-icon" else None
        return images.render_icon(
            file, renditions.FORMATS[extension][0], limits(), width=addresses.ICONS[name], background=background
        )


def _cached_for_ever(request: HttpRequest, content: bytes, content_type: str) -> HttpResponse:
    response = HttpResponse(content, content_type=content_type, headers={"Cache-Control": FOR_EVER})
    response["ETag"] = quote_etag(hashlib.blake2b(content, digest_size=16).hexdigest())
    return get_conditional_response(request, response["ETag"], None, response) or response
