"""Derive data from a node's metadata. Each save stores this data with the node, so that reads don't parse the text."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bson import ObjectId

from marginalia.markup import scripts, text, titles
from marginalia.markup.characters import normalize_for_search
from marginalia.markup.html import references as markup_references
from marginalia.markup.inserts.reading import TextInserts
from nodes import content, rendering
from nodes.content import MARKDOWN, declared_fields, facets
from nodes.selectors import stored_photos
from nodes.selectors.references import MOST_REFERENCES, Ref

EXCERPT_WORDS = 40
# Maximum number of searchable characters in a node's text. Searches don't find text beyond this limit.
SEARCHED = 100_000


def derive(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the derived data for a node's metadata.

    - For searches: `text`, `pairs`, `title` and `tags`, and `title_words` for finding a node by its title.
    - For lists: `excerpt`, `facets`, `date`, `picture`, and the reading time, `minutes`.
    - `refs`: The nodes, photos and inserts that the node uses.
    """
    detail = metadata.get("detail") or {}
    inserts = TextInserts(_html(metadata))
    html = inserts.plain()
    # Photos have alternative text instead of body text.
    alt = detail.get("alt") or ""
    whole = text.html_to_text(html, 2 * SEARCHED)
    plain = whole[:SEARCHED] or alt
    if field_texts := " ".join(_words(metadata["type"], detail)):
        plain = f"{plain}\n\n{field_texts}"[:SEARCHED] if plain else field_texts[:SEARCHED]
    return {
        "excerpt": text.excerpt(html, EXCERPT_WORDS) or alt,
        "text": plain,
        "pairs": pairs(metadata, plain),
        "title_words": titles.title_words(metadata["title"]),
        **_minutes(whole),
        **references(metadata, inserts),
        **_facets(metadata["type"], detail),
        **_weighted(metadata["type"], detail),
        **_date(metadata["type"], detail),
        **_picture(detail),
    }


def pairs(metadata: Mapping[str, Any], plain: str) -> str:
    """Return additional search words that the text index doesn't derive from the node's plain text (`plain`)."""
    everything = (metadata["title"], metadata.get("summary") or "", *metadata.get("tags", ()), plain)
    return " ".join(sorted(extra_search_words(" ".join(everything))))


def extra_search_words(words: str) -> set[str]:
    """Return pairs of characters in scripts without spaces, and words that searches find in a normalized form."""
    normalized = normalize_for_search(words)
    if normalized == words:
        return scripts.character_pairs(words)
    return scripts.character_pairs(normalized) | (set(normalized.split()) - set(words.split()))


def derive_for_readers(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the derived data that readers see in lists and search results. Scheduled changes contain this data."""
    derived = derive(metadata)
    # If the changes remove the featured photo, None overrides the photo of the live version.
    return {name: derived.get(name) for name in ("excerpt", "text", "minutes", "picture")}


def references(metadata: Mapping[str, Any], inserts: TextInserts | None = None) -> dict[str, list[Ref]]:
    """Return {"refs": […]} with everything that a node's text and fields refer to, or {} if there is nothing.

    The ids of nodes and photos come first, followed by the names of inserts. Ids and names are sorted and contain no
    duplicates. Targets that don't exist are included, so that broken links can be found. If the caller has already read
    the inserts in the node's text, `inserts` contains them.
    """
    detail = metadata.get("detail") or {}
    fields = declared_fields.markdown_texts(metadata["type"], detail)
    texts = [inserts or TextInserts(_html(metadata)), *(TextInserts(rendering.of_field(f.text)) for f in fields)]
    names_by_text = [markup_references.find_names(inserts.html, MOST_REFERENCES) for inserts in texts]
    names = [name for in_text in names_by_text for name in (*in_text.nodes, *in_text.photos)]
    photos = (name for in_text in names_by_text for name in in_text.photos)
    slugs = list(dict.fromkeys(name for name in photos if not ObjectId.is_valid(name)))
    ids = {ObjectId(name) for name in names if ObjectId.is_valid(name)}
    ids |= {photo.pk for photo in stored_photos.by_references(slugs[:MOST_REFERENCES]).values()}
    ids |= set(declared_fields.references(metadata["type"], detail))
    ids = ids.union(*(inserts.references.nodes | inserts.references.photos for inserts in texts))
    refs: list[Ref] = [*sorted(ids), *sorted(frozenset().union(*(inserts.names for inserts in texts)))]
    # For a node without references, no list is stored, so the partial indexes don't contain the node.
    return {"refs": refs} if refs else {}


def _words(type: str, detail: Mapping[str, Any], names: Collection[str] | None = None) -> Iterator[str]:
    """Yield the searchable text in a type's fields, as readers see it."""
    for field, value in declared_fields.search_texts(type, detail, names):
        is_markdown = isinstance(field, declared_fields.MarkdownField)
        yield text.html_to_text(TextInserts(rendering.of_field(value)).plain(), 2 * SEARCHED) if is_markdown else value


def _weighted(type: str, detail: Mapping[str, Any]) -> dict[str, str]:
    """Return the words from fields that have the same weight in searches as the title or the tags."""
    known = content.get(type)
    named = {"title": known.searched_as_title, "tags": known.searched_as_tags}
    words = {name: " ".join(_words(type, detail, fields)) for name, fields in named.items() if fields}
    return {name: joined[:SEARCHED] for name, joined in words.items() if joined}


def _facets(type: str, detail: Mapping[str, Any]) -> dict[str, list[str]]:
    values = facets.from_detail(type, detail)
    return {"facets": values} if values else {}


def _date(type: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    known = content.get(type)
    at = detail.get(known._meta.get_field(known.date_field).column) if known.date_field else None
    return {"date": at} if at else {}


def _minutes(plain: str) -> dict[str, int]:
    minutes = text.reading_minutes(plain)
    return {"minutes": minutes} if minutes else {}


def _picture(detail: Mapping[str, Any]) -> dict[str, ObjectId]:
    """Return the id of the featured photo for use in lists.

    Lists read this copy of the id, because `detail` can be stored with an older version of the type.
    """
    chosen = detail.get("picture")
    return {"picture": chosen} if isinstance(chosen, ObjectId) else {}


def _html(metadata: Mapping[str, Any]) -> str:
    detail = metadata.get("detail") or {}
    return rendering.to_html(detail.get("text") or "", detail.get("format") or MARKDOWN)
