"""What is worked out of a node's metadata when it is saved and stored beside it, so that reading needs no parsing."""

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
# Characters of a text that search looks through. A longer one is found by its beginning.
SEARCHED = 100_000


def derive(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the derived part of a node: `excerpt` for lists, `text`, `pairs`, `title` and `tags` for search, `title_words`
    that it is chosen by, `refs` that it uses, `facets` that lists filter by, the `date` that they go by, the
    `picture` that they show, and the `minutes` that reading takes."""
    detail = metadata.get("detail") or {}
    inserts = TextInserts(_html(metadata))
    html = inserts.plain()
    # A photo has no text, but words for those who cannot see it.
    alt = detail.get("alt") or ""
    whole = text.html_to_text(html, 2 * SEARCHED)
    plain = whole[:SEARCHED] or alt
    if said := " ".join(_words(metadata["type"], detail)):
        plain = f"{plain}\n\n{said}"[:SEARCHED] if plain else said[:SEARCHED]
    return {
        "excerpt": text.excerpt(html, EXCERPT_WORDS) or alt,
        "text": plain,
        "pairs": pairs(metadata, plain),
        "title_words": titles.title_words(metadata["title"]),
        **_minutes(whole),
        **references(metadata, inserts),
        **_facets(metadata["type"], detail),
        **_weighty(metadata["type"], detail),
        **_date(metadata["type"], detail),
        **_picture(detail),
    }


def pairs(metadata: Mapping[str, Any], plain: str) -> str:
    """Return what search looks for and the text index would not find, in a node whose derived `text` is `plain`."""
    everything = (metadata["title"], metadata.get("summary") or "", *metadata.get("tags", ()), plain)
    return " ".join(sorted(extra_search_words(" ".join(everything))))


def extra_search_words(said: str) -> set[str]:
    """Return the pairs of scripts without spaces, and the words that search looks for in another spelling."""
    spelled = normalize_for_search(said)
    if spelled == said:
        return scripts.character_pairs(said)
    return scripts.character_pairs(spelled) | (set(spelled.split()) - set(said.split()))


def derive_for_readers(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what lists and search show of a node's text, and its picture: of scheduled changes that is stored beside them."""
    found = derive(metadata)
    # None where they take the picture away: what is live has one still.
    return {name: found.get(name) for name in ("excerpt", "text", "minutes", "picture")}


def references(metadata: Mapping[str, Any], inserts: TextInserts | None = None) -> dict[str, list[Ref]]:
    """Return {"refs": […]}: what the texts and the other fields of a node use, each once; {} where that is nothing.

    Ids of nodes and photos, sorted, whether or not they exist: a link that leads nowhere is found by them. After them the
    names of inserts, sorted. `inserts`: those of the node's text, where the caller has read them.
    """
    detail = metadata.get("detail") or {}
    fields = declared_fields.markdown_texts(metadata["type"], detail)
    texts = [inserts or TextInserts(_html(metadata)), *(TextInserts(rendering.of_field(one.text)) for one in fields)]
    every = [markup_references.find_names(one.html, MOST_REFERENCES) for one in texts]
    names = [name for one in every for name in (*one.nodes, *one.photos)]
    slugs = list(dict.fromkeys(name for one in every for name in one.photos if not ObjectId.is_valid(name)))
    ids = {ObjectId(name) for name in names if ObjectId.is_valid(name)}
    ids |= {photo.pk for photo in stored_photos.by_references(slugs[:MOST_REFERENCES]).values()}
    ids |= set(declared_fields.references(metadata["type"], detail))
    for one in texts:
        ids |= one.references.nodes | one.references.photos
    refs: list[Ref] = [*sorted(ids), *sorted(frozenset().union(*(one.names for one in texts)))]
    # Only where there are any: no index has an entry for the others.
    return {"refs": refs} if refs else {}


def _words(type: str, detail: Mapping[str, Any], names: Collection[str] | None = None) -> Iterator[str]:
    """Yield what the fields of a type say, as readers read it."""
    for field, said in declared_fields.search_texts(type, detail, names):
        is_markdown = isinstance(field, declared_fields.MarkdownField)
        yield text.html_to_text(TextInserts(rendering.of_field(said)).plain(), 2 * SEARCHED) if is_markdown else said


def _weighty(type: str, detail: Mapping[str, Any]) -> dict[str, str]:
    """Return the words of fields that weigh as those of the title, and of the tags, where there are any."""
    known = content.get(type)
    named = {"title": known.searched_as_title, "tags": known.searched_as_tags}
    found = {name: " ".join(_words(type, detail, fields)) for name, fields in named.items() if fields}
    return {name: said[:SEARCHED] for name, said in found.items() if said}


def _facets(type: str, detail: Mapping[str, Any]) -> dict[str, list[str]]:
    found = facets.from_detail(type, detail)
    return {"facets": found} if found else {}


def _date(type: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    known = content.get(type)
    at = detail.get(known._meta.get_field(known.date_field).column) if known.date_field else None
    return {"date": at} if at else {}


def _minutes(said: str) -> dict[str, int]:
    found = text.reading_minutes(said)
    return {"minutes": found} if found else {}


def _picture(detail: Mapping[str, Any]) -> dict[str, ObjectId]:
    """Return the chosen picture: lists read it without the detail, which may be of an older version of the type."""
    chosen = detail.get("picture")
    return {"picture": chosen} if isinstance(chosen, ObjectId) else {}


def _html(metadata: Mapping[str, Any]) -> str:
    detail = metadata.get("detail") or {}
    return rendering.to_html(detail.get("text") or "", detail.get("format") or MARKDOWN)
