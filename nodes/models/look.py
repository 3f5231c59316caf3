"""Generate a small style sheet that overrides the theme's custom properties with the colours and fonts of a site.

The URL of the style sheet contains all its values, so browsers can cache the sheet forever, and previews don't need a
separate style sheet.
"""

import colorsys
import hashlib
import re
from functools import lru_cache

from django.utils.translation import gettext_lazy as _

from nodes.models.stored_site import StoredSettings
from nodes.themes import DOCUMENTATION

# The theme's default accent in light mode, and its background colours. Keep these in sync with static/site/site.css.
ACCENT = "#1f4e8c"
LIGHT = ("#fdfcf9", "#f5f2ea")
DARK = ("#191816", "#23211e")
# The minimum contrast that WCAG 2.2 requires (1.4.3). In dark mode, the theme's own accent has a higher contrast, so
# custom accents need a higher contrast, too.
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
    "": (_("Serif for text, sans-serif for details"), {}),
    "sans": (_("Sans-serif for everything"), {"--serif": "var(--sans)"}),
    "serif": (_("Serif for everything"), {"--sans": "var(--serif)"}),
    "system": (_("System fonts: serif for text"), {"--serif": _SERIF, "--sans": _SANS}),
    "system-sans": (_("System fonts: sans-serif for everything"), {"--serif": _SANS, "--sans": _SANS}),
}

# The bundled fonts that pages with the magazine theme preload. Other choices use only fonts that are installed on the
# reader's device.
_BUNDLED = {"": ("serif", "sans"), "sans": ("sans",), "serif": ("serif",)}


def fonts(settings: StoredSettings, theme: str = "") -> tuple[str, ...]:
    """Return the file names of the bundled fonts that are used at the top of a page.

    Args:
        settings: The site's settings.
        theme: The theme of the page, or "" for the site's theme.
    """
    if (theme or settings.theme) == DOCUMENTATION and not settings.fonts:
        return ("sans",)
    return _BUNDLED.get(settings.fonts, ())


def contrast(colour: str, other: str) -> float:
    """Return the contrast ratio of two "#rrggbb" colours, from 1 to 21 (WCAG 2.2)."""
    brighter, darker = sorted((_luminance(colour), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def lowest_contrast(colour: str, surfaces: tuple[str, ...] = LIGHT) -> float:
    """Return the lowest contrast between `colour` and any of the background colours in `surfaces`."""
    return min(contrast(colour, surface) for surface in surfaces)


@lru_cache(maxsize=64)
def readable(colour: str, surfaces: tuple[str, ...], least: float) -> str:
    """Return `colour`, or the nearest colour of the same hue whose contrast on all `surfaces` is at least `least`.

    On light surfaces, the colour is darkened. On dark surfaces, the colour is lightened.
    """
    if lowest_contrast(colour, surfaces) >= least:
        return colour
    hue, lightness, saturation = colorsys.rgb_to_hls(*_parts(colour))
    step = -1 if _luminance(surfaces[0]) > _MIDDLE else 1
    tones = (round(lightness * 255) + step * count for count in range(1, 256))
    candidates = (_hex(colorsys.hls_to_rgb(hue, min(max(tone / 255, 0), 1), saturation)) for tone in tones)
    return next(candidate for candidate in candidates if lowest_contrast(candidate, surfaces) >= least)


def in_dark(colour: str) -> str:
    """Return the dark-mode accent for an accent that was chosen for light mode."""
    return readable(colour, DARK, CONTRAST_IN_DARK)


def is_colour(text: str) -> bool:
    """Return whether `text` is a colour in the form "#rrggbb", in lower case."""
    return bool(_COLOUR.fullmatch(text))


def is_accent(colour: str) -> bool:
    """Return whether `colour` is a "#rrggbb" colour that is readable on all light backgrounds."""
    return is_colour(colour) and lowest_contrast(colour) >= CONTRAST


def name(settings: StoredSettings) -> str:
    """Return the name of the style sheet for these settings, for use in its URL, or "" if no style sheet is needed."""
    if not settings.accent and not settings.fonts:
        return ""
    return f"{settings.accent.removeprefix('#') or 'own'}-{settings.fonts or 'own'}"


@lru_cache(maxsize=64)
def sheet(name: str) -> str | None:
    """Return the style sheet called `name`, or None if the name is invalid."""
    accent, _dash, fonts = name.partition("-")
    accent = "" if accent == "own" else f"#{accent}"
    fonts = "" if fonts == "own" else fonts
    if fonts not in FONTS or (accent and not is_accent(accent)) or not (accent or fonts):
        return None
    properties = dict(FONTS[fonts][1])
    if accent:
        properties["--accent"] = f"light-dark({accent}, {in_dark(accent)})"
    return "html:root {" + "".join(f" {key}: {value};" for key, value in properties.items()) + " }\n"


def digest(name: str) -> str:
    """Return a hash of the style sheet called `name`. The URL contains it, because a release can change the sheet."""
    return hashlib.blake2b((sheet(name) or "").encode(), digest_size=4).hexdigest()


# The luminance that has about the same contrast with black as with white.
_MIDDLE = 0.18


def _luminance(colour: str) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def _hex(parts: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in parts)
