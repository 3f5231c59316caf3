"""What readers see under the name of an author, and the page that tells of one.

An author is a name, as posts are signed with it; its address is made of the name alone, so that no account is told of. A page
of a type that tells of authors stands for all names that it has.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from marginalia.markup.text import slugify
from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint, read_with_hint
from nodes.collections import ASSET_FILES, NODES, keys_of
from nodes.content import registry
from nodes.models import Node, version_cache
from nodes.models.tree import Tree
from nodes.selectors import due
from nodes.selectors.listing import (
    BEGINNING,
    LISTED,
    NEWEST_FIRST,
    Listing,
    detail_projection,
    for_readers,
    listing,
    live,
    readable_nodes,
    type_condition,
)

# Pages of authors that stand for the addresses of their names, the newest.
MOST_PAGES = 1_000
# Names of one author: what is looked for at once along the index.
MOST_NAMES = 50
# Photos beside the posts.
PHOTOS_SHOWN = 12


def slugs_of(page: Node) -> frozenset[str]:
    """Return the last parts of the addresses that a page, which tells of an author, stands for."""
    names = getattr(page.metadata.detail, "names", None) or ()
    return frozenset(filter(None, map(slugify, (page.metadata.title, *names))))


def pages(sections: Tree, moment: datetime) -> dict[str, Node]:
    """Return the live pages that tell of authors, by each slug that they stand for. Kept in process."""

    def read() -> tuple[dict[str, Node], datetime | None]:
        types = registry.authors()
        wanted = {
            "metadata.type": type_condition(types),
            "metadata.parent_id": {"$in": sections.live_ids(moment)},
            **live(moment),
        }
        fields = for_readers(LISTED | detail_projection(map(registry.get, types), ["metadata.detail.names"]), moment)
        nodes = database()[NODES]
        documents = read_with_hint(
            keys_of("by_type"),
            lambda hint: nodes.find(wanted, fields).sort(NEWEST_FIRST).limit(MOST_PAGES).hint(hint),
        )
        found: dict[str, Node] = {}
        for page in readable_nodes(NODES, documents):
            # Of two that have a name, it stays the older one's: a new page takes no address of another.
            found |= dict.fromkeys(slugs_of(page), page)
        return found, due.next_due(moment)

    return version_cache.get_or_set("pages of authors", moment, read)


def names(slugs: Collection[str], moment: datetime) -> list[str]:
    """Return the names, of posts and photos in any state, whose addresses end in one of these slugs. Kept in process."""

    def read() -> tuple[dict[str, list[str]], None]:
        found: dict[str, list[str]] = {}
        # Of the index alone, one entry a name.
        every = {name for one in (NODES, ASSET_FILES) for name in database()[one].distinct("metadata.author.name")}
        for name in sorted(name for name in every if name and isinstance(name, str)):
            found.setdefault(slugify(name), []).append(name)
        return found, None

    known = version_cache.get_or_set("names of authors", moment, read)
    return [name for slug in sorted(slugs) for name in known.get(slug, ())][:MOST_NAMES]


def posts(
    sections: Tree,
    names: Sequence[str],
    moment: datetime,
    *,
    size: int,
    cursor: str | None = None,
    whole: bool = False,
) -> Listing:
    """Return `size` live posts that are signed with one of these names, newest first, with their texts if `whole`.

    Raises ValueError for a cursor that is none.
    """
    if not names:
        return Listing(())
    base = {**_signed(sections, names, moment), "metadata.type": type_condition(registry.dated())}
    return listing(base, "by_byline", moment, size, cursor, whole=whole)


def photos(sections: Tree, names: Sequence[str], moment: datetime) -> Listing:
    """Return the newest live photos that are signed with one of these names: PHOTOS_SHOWN at most."""
    if not names:
        return Listing(())
    return listing(_signed(sections, names, moment), "by_byline", moment, PHOTOS_SHOWN, collections=(ASSET_FILES,))


def bylines(sections: Tree, moment: datetime) -> dict[str, tuple[str, datetime]]:
    """Return (name, when the newest live post was published) of each author, by the slug of the name, as the newest post is
    signed. Kept in process.

    Passes over index keys alone.
    """

    def read() -> tuple[dict[str, tuple[str, datetime]], datetime | None]:
        # None, the top level, would have the server look into documents.
        ids = [section_id for section_id in sections.live_ids(moment) if section_id is not None]
        wanted = {
            "metadata.author.name": {"$gt": ""},
            "metadata.parent_id": {"$in": ids},
            "metadata.type": type_condition(registry.dated()),
            **live(moment),
        }
        group = {"_id": "$metadata.author.name", "at": {"$max": "$metadata.published"}}
        found: dict[str, tuple[str, datetime]] = {}
        pipeline = [{"$match": wanted}, {"$group": group}]
        for one in aggregate_with_hint(database()[NODES], pipeline, keys_of("by_byline")):
            slug = slugify(one["_id"])
            if slug and one["at"] > found.get(slug, ("", BEGINNING))[1]:
                found[slug] = one["_id"], one["at"]
        return found, due.next_due(moment)

    return version_cache.get_or_set("newest of authors", moment, read)


def _signed(sections: Tree, names: Sequence[str], moment: datetime) -> dict[str, object]:
    return {"metadata.author.name": type_condition(names), "metadata.parent_id": {"$in": sections.live_ids(moment)}}
