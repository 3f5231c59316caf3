"""Finding what is put into a text or a form while an editor types: photos by their words, tags by how they begin."""

from bson import ObjectId

from mongo.clock import now
from mongo.connection import database
from nodes.collections import ASSET_FILES, NODES, standing
from nodes.models import Photo
from nodes.selectors import lists
from nodes.selectors.listing import FIELDS
from nodes.selectors.lists import ANY, Filters

# Photos that are offered at once.
OFFERED = 24
# The newest photos are looked through for parts of words; of all others only whole words are found.
LOOKED_THROUGH = 300
TAGS_OFFERED = 10


def photos(query: str) -> list[Photo]:
    """Return photos to choose from, whatever their state: the newest, or those with the words typed so far."""
    moment, words = now(), query.casefold().split()
    if not words:
        found = lists.page(Filters(), moment, size=OFFERED, collection=ASSET_FILES)
        return [row.node for row in found.rows]
    best = lists.page(Filters(search=query), moment, collection=ASSET_FILES).rows if _has_word(query) else ()
    chosen = {row.node.pk: row.node for row in best[:OFFERED]}
    for photo in _newest(LOOKED_THROUGH):
        if len(chosen) >= OFFERED:
            break
        said = " ".join((photo.metadata.title, photo.metadata.detail.alt, *photo.metadata.tags)).casefold()
        if all(word in said for word in words):
            chosen.setdefault(photo.pk, photo)
    return list(chosen.values())


def _has_word(query: str) -> bool:
    return any(character.isalnum() for character in query)


def _newest(most: int) -> list[Photo]:
    found = database()[ASSET_FILES].find(standing(ASSET_FILES), FIELDS[ASSET_FILES])
    return [Photo.from_document(d) for d in found.sort([("metadata.updated", -1), ("_id", -1)]).limit(most)]


def tags(typed: str, version: ObjectId | None, author: ObjectId | str | None = ANY) -> list[str]:
    """Return tags of pages (of one author) and of photos that begin with what was typed, and then those that contain it."""
    wanted = typed.casefold().strip()
    every = dict.fromkeys((*lists.tags(version, NODES, author), *lists.tags(version, ASSET_FILES)))
    first = [tag for tag in every if tag.casefold().startswith(wanted)]
    rest = [tag for tag in every if wanted in tag.casefold() and tag not in first]
    return [*sorted(first, key=str.casefold), *sorted(rest, key=str.casefold)][:TAGS_OFFERED]
