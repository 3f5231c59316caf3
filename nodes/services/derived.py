"""Derive data from a node's metadata. Each save stores this data with the node, so that reads don't parse the text."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bson import ObjectId

from marginalia.markup import text, titles
from marginalia.markup.html import references as markup_references
from marginalia.markup.inserts.reading import TextInserts
from nodes import content, rendering
from nodes.content import MARKDOWN, Content, declared_fields, facets, upgrading
from nodes.languages import known as known_language
from nodes.models import stored_site
from nodes.search import index, languages, words
from nodes.selectors import stored_photos
from nodes.selectors.references import MOST_REFERENCES, Ref
from nodes.services import vocabulary

EXCERPT_WORDS = 40
# Maximum number of searchable characters in a node's text. Searches don't find text beyond this limit.
SEARCHED = 100_000


def derive(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the derived data for a node's metadata.

    - For searches: `terms`, `text` for the extracts, and `title_words` for finding a node by its title.
    - `language`: The language of the node, which the editor has chosen, or which is detected from the text.
    - For lists: `excerpt`, `facets`, `date`, `picture`, and the reading time, `minutes`.
    - `refs`: The nodes, photos and inserts that the node uses.
    """
    derived, _body = _derive(metadata)
    return derived


def _derive(metadata: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the derived data for a node's metadata, and the words in its text."""
    detail = metadata.get("detail") or {}
    inserts = TextInserts(_html(metadata))
    html = inserts.plain()
    # Photos have alternative text instead of body text.
    alt = detail.get("alt") or ""
    whole = text.html_to_text(html, 2 * SEARCHED)
    plain = whole[:SEARCHED] or alt
    if field_texts := " ".join(_words(metadata["type"], detail)):
        plain = f"{plain}\n\n{field_texts}"[:SEARCHED] if plain else field_texts[:SEARCHED]
    language = _language(metadata, plain)
    body = list(words.split(plain))
    derived = {
        "excerpt": text.excerpt(html, EXCERPT_WORDS) or alt,
        "text": plain,
        "language": language,
        "terms": _terms(metadata, html, plain, body, languages.main_code(language)),
        "title_words": titles.title_words(metadata["title"]),
        **_minutes(whole),
        **references(metadata, inserts),
        **_facets(metadata["type"], detail),
        **_date(metadata["type"], detail),
        **_picture(detail),
    }
    return derived, body


def derive_to_store(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the derived data for metadata that is about to be stored, and store its words in the vocabulary."""
    derived, body = _derive(metadata)
    vocabulary.learn(metadata, derived["language"], body)
    return derived


def change_tags(tags: Collection[str], derived: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the update that changes a node's tags, and replaces only their search terms.

    Args:
        tags: All tags of the node after the update.
        derived: The node's stored derived data, including the language.
    """
    terms = sorted(index.tag_terms(tags, languages.main_code(derived.get("language", ""))))
    others = {
        "$filter": {
            "input": {"$ifNull": [f"${index.PATH}", []]},
            "cond": {"$ne": [{"$indexOfBytes": ["$$this", f"{index.TAG} "]}, 0]},
        }
    }
    changes: dict[str, Any] = {"metadata.tags": {"$literal": list(tags)}}
    # A node without derived data is damaged. The doctor reports it as long as the data is missing.
    if derived:
        changes[index.PATH] = {"$concatArrays": [{"$literal": terms}, others]}
    return [{"$set": changes}]


def derive_for_readers(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the derived data that readers see in lists and search results. Scheduled changes contain this data."""
    derived = derive(metadata)
    # If the changes remove the featured photo, None overrides the photo of the live version.
    return {name: derived.get(name) for name in ("excerpt", "text", "language", "minutes", "picture")}


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


def _language(metadata: Mapping[str, Any], plain: str) -> str:
    """Return the code of the language that the editor has chosen, or of the language of the text.

    If the language of the text isn't clear, return the site's language. It is also returned for other variants of the
    same language, such as "en" on a site in "en-gb".
    """
    if chosen := known_language((metadata.get("detail") or {}).get("language")):
        return chosen
    site = stored_site.current().settings.language
    guessed = languages.guess(" ".join((metadata["title"], metadata.get("summary") or "", plain)))
    return site if guessed in ("", languages.main_code(site)) else guessed


def _words(type: str, detail: Mapping[str, Any], names: Collection[str] | None = None) -> Iterator[str]:
    """Yield the searchable text in a type's fields, as readers see it."""
    for field, value in declared_fields.search_texts(type, detail, names):
        is_markdown = isinstance(field, declared_fields.MarkdownField)
        yield text.html_to_text(TextInserts(rendering.of_field(value)).plain(), 2 * SEARCHED) if is_markdown else value


def _terms(metadata: Mapping[str, Any], html: str, plain: str, body: Sequence[str], language: str) -> list[str]:
    """Return the node's search terms (nodes.search.index), including words from fields that have a higher weight."""
    detail = metadata.get("detail") or {}
    known = content.get(metadata["type"])
    title, keywords = (
        " \n ".join(_words(metadata["type"], detail, names)) if names else ""
        for names in (known.searched_as_title, known.searched_as_tags)
    )
    if known.search_words is not Content.search_words and (instance := upgrading.read(metadata)):
        keywords = " \n ".join((keywords, *instance.search_words()))
    return index.node_terms(
        metadata, html, plain, body, language, title_words=title[:SEARCHED], keywords=keywords[:SEARCHED]
    )


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
