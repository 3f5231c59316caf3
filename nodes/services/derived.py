"""What is worked out of a node's metadata when it is saved and stored beside it, so that reading needs no parsing."""

from collections.abc import Mapping
from typing import Any

from bson import ObjectId

from markup import text
from markup.html import references as markup_references
from nodes.content import MARKDOWN
from nodes.content import fields as content_fields
from nodes.selectors import photos
from nodes.selectors.references import MOST_NAMED, Ref
from nodes.texts import rendering, scripts
from nodes.texts.inserts.reading import Inserts

EXCERPT_WORDS = 40
# Characters of a text that search looks through. A longer one is found by its beginning.
SEARCHED = 100_000


def of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the derived part of a node: `excerpt` for lists, `text` and `pairs` for search, `refs` that it uses."""
    detail, inserts = metadata.get("detail") or {}, Inserts(_html(metadata))
    html = inserts.plain()
    # A photo has no text, but words for those who cannot see it.
    alt = detail.get("alt") or ""
    plain = text.plain(html, 2 * SEARCHED)[:SEARCHED] or alt
    if said := " ".join(content_fields.words(metadata["type"], detail)):
        plain = f"{plain}\n\n{said}"[:SEARCHED] if plain else said[:SEARCHED]
    everything = " ".join((metadata["title"], metadata.get("summary") or "", *metadata.get("tags", ()), plain))
    return {
        "excerpt": text.excerpt(html, EXCERPT_WORDS) or alt,
        "text": plain,
        "pairs": " ".join(sorted(scripts.pairs(everything))),
        **references(metadata, inserts),
    }


def references(metadata: Mapping[str, Any], inserts: Inserts | None = None) -> dict[str, list[Ref]]:
    """Return {"refs": […]}: what the text and the fields of a node use, each once; {} where that is nothing.

    Ids of nodes and photos, sorted, whether or not they exist: a link that leads nowhere is found by them. After them the
    names of inserts, sorted. `inserts`: those of the node's text, where the caller has read them.
    """
    inserts = inserts or Inserts(_html(metadata))
    named, used = markup_references.names(inserts.html, MOST_NAMED), inserts.references
    ids = {ObjectId(name) for name in (*named.nodes, *named.photos) if ObjectId.is_valid(name)}
    ids |= {photo.pk for photo in photos.named([n for n in named.photos if not ObjectId.is_valid(n)]).values()}
    refs: list[Ref] = [*sorted(ids | used.nodes | used.photos), *sorted(inserts.names)]
    # Only where there are any: no index has an entry for the others.
    return {"refs": refs} if refs else {}


def _html(metadata: Mapping[str, Any]) -> str:
    detail = metadata.get("detail") or {}
    return rendering.to_html(detail.get("text") or "", detail.get("format") or MARKDOWN)
