"""Files of a site's own look: a style sheet, and icons made of the logo. Their addresses say all that is in them."""

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
from photos.assets.responses import FOR_EVER, NOT_KEPT

# Of home screens, which show no icon on nothing.
PAPER = (0xFD, 0xFC, 0xF9)


def address(settings: StoredSettings) -> str:
    """Return where the style sheet of these settings is; "" where they change nothing of the theme."""
    name = look.name(settings)
    return f"{reverse('look-sheet', args=[name])}?v={look.digest(name)}" if name else ""


@require_safe
def sheet(request: HttpRequest, name: str) -> HttpResponse:
    """Send a style sheet that sets the theme's custom properties."""
    text = look.sheet(name)
    if text is None:
        raise Http404
    return _kept(request, text.encode(), "text/css; charset=utf-8")


@require_safe
def icon(request: HttpRequest, content_id: ObjectId, icon: str) -> HttpResponse:
    """Send an icon made of the site's logo; of no other photo are any made."""
    logo, _dark = pictures.logos()
    name = next((one for one in addresses.ICONS if logo and addresses.icon(logo, one) == quote(request.path)), None)
    if logo is None or name is None:
        raise Http404
    source = contents.find(logo.pk, content_id, logo.parent_id)
    try:
        if source is None:
            raise Http404
        spec = _source(logo)
        copy = renditions.get(source, logo.metadata.detail.content_type, spec)
        return _kept(request, _drawn(copy, spec.extension, name), "image/png")
    except TooBusy:
        # Tabs ask once, and have no use for an error: the theme's own, until the copy is made.
        return HttpResponseRedirect(static("site/icon.svg"), headers={"Cache-Control": NOT_KEPT})
    except (BadPicture, reader.Missing) as error:
        raise Http404 from error


def _source(logo: Photo) -> Spec:
    """Return the copy of a logo that its icons are made of, as wide as the largest if the logo is."""
    # A WebP cannot be as long as a JPEG, and lets shine through.
    extension = "webp" if renditions.widths(addresses.size(logo), "webp") else "jpg"
    made = renditions.widths(addresses.size(logo), extension)
    width = next((one for one in made if one >= max(addresses.ICONS.values())), made[-1])
    return Spec(width, extension, cut=addresses.cut(logo))


@lru_cache(maxsize=8)
def _drawn(copy: contents.Stored, extension: str, name: str) -> bytes:
    with copy.open() as file:
        on = PAPER if name == "touch-icon" else None
        return images.icon(file, renditions.FORMATS[extension][0], limits(), width=addresses.ICONS[name], on=on)


def _kept(request: HttpRequest, content: bytes, content_type: str) -> HttpResponse:
    response = HttpResponse(content, content_type=content_type, headers={"Cache-Control": FOR_EVER})
    response["ETag"] = quote_etag(hashlib.blake2b(content, digest_size=16).hexdigest())
    return get_conditional_response(request, response["ETag"], None, response) or response
