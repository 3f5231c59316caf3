"""Find posts and photos by the name of their author, and the pages about authors.

An author is a name to which posts are credited. The URL of an author is derived only from the name, so it doesn't
reveal an account. A page about an author represents the name in its title and all other names that it lists.
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
    NEWEST_FIRST,
    UNTAGGED,
    Listing,
    detail_projection,
    for_readers,
    listing,
    live,
    public_filter,
    readable_nodes,
    type_condition,
)

# Maximum number of pages about authors to read. The newest pages are read.
MAX_PAGES = 1_000
# Maximum number of names of one author in a query.
MAX_NAMES = 50
# Maximum number of photos shown alongside the posts.
MAX_PHOTOS = 12


def author_slugs(page: Node) -> frozenset[str]:
    """Return the slugs of the names that a page about an author represents: its title and its `names`."""
    names = getattr(page.metadata.detail, "names", None) or ()
    return frozenset(filter(None, map(slugify, (page.metadata.title, *names))))


def pages(sections: Tree, moment: datetime) -> dict[str, Node]:
    """Return the live pages about authors, keyed by the slugs that they represent. The result is cached in memory."""

    def read() -> tuple[dict[str, Node], datetime | None]:
        types = registry.authors()
        query = {
            "metadata.type": type_condition(types),
            **public_filter(sections, moment),
        }
        fields = for_readers(UNTAGGED | detail_projection(map(registry.get, types), ["metadata.detail.names"]), moment)
        nodes = database()[NODES]
        documents = read_with_hint(
            keys_of("by_type"),
            lambda hint: nodes.find(query, fields).sort(NEWEST_FIRST).limit(MAX_PAGES).hint(hint),
        )
        by_slug: dict[str, Node] = {}
        for page in readable_nodes(NODES, documents):
            # If two pages share a name, the older page is used, so that a new page can't take over an existing URL.
            by_slug |= dict.fromkeys(author_slugs(page), page)
        return by_slug, due.next_due(moment)

    return version_cache.get_or_set("pages of authors", moment, read)


def find_page(sections: Tree, name: str | None, moment: datetime) -> Node | None:
    """Return the live page about the author with this name, or None if there is none."""
    return pages(sections, moment).get(slugify(name)) if name else None


def names(slugs: Collection[str], moment: datetime) -> list[str]:
    """Return up to MAX_NAMES author names with one of these slugs. All nodes and photos are searched, live or not.

    The result is cached in memory.
    """

    def read() -> tuple[dict[str, list[str]], None]:
        by_slug: dict[str, list[str]] = {}
        for name in all_names(moment):
            by_slug.setdefault(slugify(name), []).append(name)
        return by_slug, None

    by_slug = version_cache.get_or_set("names of authors by slug", moment, read)
    return [name for slug in sorted(slugs) for name in by_slug.get(slug, ())][:MAX_NAMES]


def all_names(moment: datetime) -> Sequence[str]:
    """Return the names of the authors of all nodes and photos, live or not. The result is cached in memory."""

    def read() -> tuple[list[str], None]:
        # `distinct` reads only one index entry per name.
        names = {
            name
            for collection in (NODES, ASSET_FILES)
            for name in database()[collection].distinct("metadata.author.name")
        }
        return sorted(name for name in names if name and isinstance(name, str)), None

    return version_cache.get_or_set("names of authors", moment, read)


def posts(
    sections: Tree,
    names: Sequence[str],
    moment: datetime,
    *,
    size: int,
    cursor: str | None = None,
    whole: bool = False,
) -> Listing:
    """Return live posts credited to one of these names, newest first.

    Args:
        sections: The section tree.
        names: The names.
        moment: The time at which posts must be live.
        size: The maximum number of posts.
        cursor: The cursor of a later page, or None for the first page.
        whole: Whether to read the posts with their text.

    Raises:
        ValueError: The cursor is invalid.
    """
    if not names:
        return Listing(())
    base = {**_signed(sections, names, moment), "metadata.type": type_condition(registry.dated())}
    return listing(base, "by_byline", moment, size, cursor, whole=whole)


def photos(sections: Tree, names: Sequence[str], moment: datetime) -> Listing:
    """Return the newest live photos credited to one of these names, up to MAX_PHOTOS."""
    if not names:
        return Listing(())
    return listing(_signed(sections, names, moment), "by_byline", moment, MAX_PHOTOS, collections=(ASSET_FILES,))


def authors(sections: Tree, moment: datetime) -> dict[str, tuple[str, datetime]]:
    """Return each author's name, and the publication time of the author's newest live post, keyed by slug.

    Names are written as in these posts. The query reads only index keys. The result is cached in memory.
    """

    def read() -> tuple[dict[str, tuple[str, datetime]], datetime | None]:
        # Leave out the top level (None), because the server would have to read documents to match None.
        ids = [section_id for section_id in sections.live_ids(moment) if section_id is not None]
        query = {
            "metadata.author.name": {"$gt": ""},
            "metadata.parent_id": {"$in": ids},
            "metadata.type": type_condition(registry.dated()),
            **live(moment),
        }
        group = {"_id": "$metadata.author.name", "at": {"$max": "$metadata.published"}}
        by_slug: dict[str, tuple[str, datetime]] = {}
        pipeline = [{"$match": query}, {"$group": group}]
        for author in aggregate_with_hint(database()[NODES], pipeline, keys_of("by_byline")):
            slug = slugify(author["_id"])
            if slug and author["at"] > by_slug.get(slug, ("", BEGINNING))[1]:
                by_slug[slug] = author["_id"], author["at"]
        return by_slug, due.next_due(moment)

    return version_cache.get_or_set("newest of authors", moment, read)


def _signed(sections: Tree, names: Sequence[str], moment: datetime) -> dict[str, object]:
    return {"metadata.author.name": type_condition(names), "metadata.parent_id": {"$in": sections.live_ids(moment)}}
