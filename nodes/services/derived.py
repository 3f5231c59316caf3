"""What is worked out of a node's metadata when it is saved and stored beside it, so that reading needs no parsing."""

from collections.abc import Mapping
from typing import Any

from markup import text
from markup.html import images
from nodes.models import MARKDOWN
from nodes.selectors import photos
from nodes.texts import rendering, scripts

EXCERPT_WORDS = 40
# Characters of a text that search looks through. A longer one is found by its beginning.
SEARCHED = 100_000


def of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the derived part of a node: `excerpt` for lists, `text` and `pairs` for search, `photos` that the text shows."""
    detail = metadata.get("detail") or {}
    html = rendering.to_html(detail.get("text") or "", detail.get("format") or MARKDOWN)
    # A photo has no text, but words for those who cannot see it.
    alt = detail.get("alt") or ""
    plain = text.plain(html, 2 * SEARCHED)[:SEARCHED] or alt
    everything = " ".join((metadata["title"], metadata.get("summary") or "", *metadata.get("tags", ()), plain))
    parts: dict[str, Any] = {
        "excerpt": text.excerpt(html, EXCERPT_WORDS) or alt,
        "text": plain,
        "pairs": " ".join(sorted(scripts.pairs(everything))),
    }
    # Only where there are any: no index has an entry for the others.
    if shown := photos.named(images.references(html)[: photos.MOST_NAMED]):
        parts["photos"] = sorted({photo.pk for photo in shown.values()})
    return parts
