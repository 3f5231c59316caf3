"""What is worked out of a node's metadata when it is saved and stored beside it, so that reading needs no parsing."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from markup import text
from nodes import photo_texts, rendering
from nodes.models import MARKDOWN

EXCERPT_WORDS = 40
# Characters of a text that search looks through. A longer one is found by its beginning.
SEARCHED = 100_000
# Scripts written without spaces: a text index would take a whole clause for one word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)


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
        "pairs": " ".join(sorted(pairs(everything))),
    }
    # Only where there are any: no index has an entry for the others.
    if shown := photo_texts.ids(html):
        parts["photos"] = shown
    return parts


def pairs(words: str) -> set[str]:
    """Return the characters of scripts without spaces, and the pairs of neighbouring ones.

    A search for 红楼梦 then asks for 红楼 and 楼梦, whatever stands around them.
    """
    found: set[str] = set()
    for run in _UNSPACED.findall(words):
        found.update(run, map("".join, pairwise(run)))
    return found


def spaced(words: str) -> str:
    """Return `words` without what `pairs` covers."""
    return _UNSPACED.sub(" ", words)
