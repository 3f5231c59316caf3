"""A site's own colours and fonts: what its settings change of the theme's custom properties, as one small style sheet.

The address of the sheet says all that is in it, so that it can be kept for ever, and a preview needs none of its own.
"""

import colorsys
import hashlib
import re
from functools import lru_cache

from django.utils.translation import gettext_lazy as _

from nodes.models.stored_site import DOCUMENTATION, StoredSettings

# The theme's own accent in light colours, and the surfaces on which it stands: as static/site/site.css has them.
ACCENT = "#1f4e8c"
LIGHT = ("#fdfcf9", "#f5f2ea")
DARK = ("#191816", "#23211e")
# WCAG 2.2, 1.4.3; what is made for dark colours is brighter than it must be, as the theme's own is.
CONTRAST, CONTRAST_IN_DARK = 4.5, 7.0
_COLOUR = re.compile("#[0-9a-f]{6}")

_SERIF = (
    '"Iowan Old Style", Charter, "Bitstream Charter", "Sitka Text", Cambria, "Noto Serif", "Songti SC", '
    '"Noto Serif CJK SC", "Source Han Serif SC", Georgia, serif'
)
_SANS = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", '
    '"WenQuanYi Micro Hei", sans-serif'
)
FONTS = {
    "": (_("Serif text, sans-serif details"), {}),
    "sans": (_("Sans-serif for all"), {"--serif": "var(--sans)"}),
    "serif": (_("Serif for all"), {"--sans": "var(--serif)"}),
    "system": (_("The device's fonts, serif text"), {"--serif": _SERIF, "--sans": _SANS}),
    "system-sans": (_("The device's sans-serif for all"), {"--serif": _SANS, "--sans": _SANS}),
}

# Of the fonts that come with the site, those that a page of the magazine asks for at once; of others the device has all.
_BUNDLED = {"": ("serif", "sans"), "sans": ("sans",), "serif": ("serif",)}


def fonts(settings: StoredSettings) -> tuple[str, ...]:
    """Return which of the fonts that come with the site the top of every page needs, by the names of their files."""
    if settings.theme == DOCUMENTATION and not settings.fonts:
        return ("sans",)
    bundled = _BUNDLED.get(settings.fonts, ())
    # The tagline's: found only in the style sheet, it would hold the first paint up by a round trip.
    is_slanted = settings.tagline and settings.theme != DOCUMENTATION and settings.language[:2] not in ("zh", "ja")
    return (*bundled, "serif-italic") if "serif" in bundled and is_slanted else bundled


def contrast(one: str, other: str) -> float:
    """Return how much two colours "#rrggbb" differ in brightness, from 1 to 21 (WCAG 2.2)."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def lowest_contrast(colour: str, surfaces: tuple[str, ...] = LIGHT) -> float:
    """Return the least contrast of a colour on any of these surfaces."""
    return min(contrast(colour, surface) for surface in surfaces)


@lru_cache(maxsize=64)
def readable(colour: str, surfaces: tuple[str, ...], least: float) -> str:
    """Return the colour, or the nearest of its hue with this contrast on all surfaces: darker on light ones, else lighter."""
    if lowest_contrast(colour, surfaces) >= least:
        return colour
    hue, lightness, saturation = colorsys.rgb_to_hls(*_parts(colour))
    step = -1 if _luminance(surfaces[0]) > _MIDDLE else 1
    tones = (round(lightness * 255) + step * count for count in range(1, 256))
    made = (_hex(colorsys.hls_to_rgb(hue, min(max(tone / 255, 0), 1), saturation)) for tone in tones)
    return next(one for one in made if lowest_contrast(one, surfaces) >= least)


def in_dark(colour: str) -> str:
    """Return the accent in dark colours for one that was chosen for light ones."""
    return readable(colour, DARK, CONTRAST_IN_DARK)


def is_colour(written: str) -> bool:
    """Return whether this is a colour "#rrggbb", in lower case."""
    return bool(_COLOUR.fullmatch(written))


def is_accent(colour: str) -> bool:
    """Return whether this is a colour "#rrggbb" that can be read on every light surface."""
    return is_colour(colour) and lowest_contrast(colour) >= CONTRAST


def name(settings: StoredSettings) -> str:
    """Return what the sheet of these settings is called in its address; "" where they leave the theme as it is."""
    if not settings.accent and not settings.fonts:
        return ""
    return f"{settings.accent.removeprefix('#') or 'own'}-{settings.fonts or 'own'}"


@lru_cache(maxsize=64)
def sheet(name: str) -> str | None:
    """Return the style sheet of this name; None for what no settings are called."""
    accent, _dash, fonts = name.partition("-")
    accent = "" if accent == "own" else f"#{accent}"
    fonts = "" if fonts == "own" else fonts
    if fonts not in FONTS or (accent and not is_accent(accent)) or not (accent or fonts):
        return None
    properties = dict(FONTS[fonts][1])
    if accent:
        properties["--accent"] = f"light-dark({accent}, {in_dark(accent)})"
    return ":root {" + "".join(f" {key}: {value};" for key, value in properties.items()) + " }\n"


def digest(name: str) -> str:
    """Return what changes whenever the sheet of this name does, with a release of the site: part of its address."""
    return hashlib.blake2b((sheet(name) or "").encode(), digest_size=4).hexdigest()


# As far from black as from white, by contrast.
_MIDDLE = 0.18


def _luminance(colour: str) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _hex(parts: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in parts)
