"""What is like a page: what shares its tags, the most alike first; and pages whose titles have words that are asked for."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from math import log
from typing import Any

from marginalia.markup import titles
from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import NODES, keys_of
from nodes.models import Node, derived_of, version_cache
from nodes.models.tree import Tree
from nodes.selectors import due, search
from nodes.selectors.listing import LISTED, NEWEST_FIRST, for_readers, live, readable_nodes

# The newest with the same tags that are compared, and those that are shown.
COMPARED, SHOWN = 50, 4
# A tag that two share says as much as so many words.
WORTH_OF_A_TAG = 3


@dataclass(frozen=True)
class Related:
    """What is like a page, and the tag that most of it shares with it."""

    nodes: tuple[Node, ...] = ()
    tag: str = ""


def related(sections: Tree, node: Node, moment: datetime) -> Related:
    """Return up to SHOWN live pages, posts and sections that share tags with a node, and never itself, with the tags that they
    share. Kept in process.

    Of the COMPARED newest those come first that share the most of what few of them have: tags, and words of titles.
    """

    def read() -> tuple[Related, datetime | None]:
        base = {
            "metadata.tags": {"$in": node.metadata.tags},
            "metadata.parent_id": {"$in": sections.live_ids(moment)},
            "_id": {"$ne": node.pk},
            **live(moment),
        }
        fields = for_readers({**LISTED, "derived.title_words": 1}, moment, tagged=own)
        nodes = database()[NODES]
        found = read_with_hint(
            keys_of("by_tag"), lambda hint: nodes.find(base, fields).sort(NEWEST_FIRST).limit(COMPARED).hint(hint)
        )
        # Most are compared and not shown: nodes are made of few.
        alike = readable_nodes(NODES, _alike(node, list(found)))
        # Changes that are due may have taken the tags away.
        installed = (one for one in alike if one.content_type.is_installed and own & set(one.metadata.tags))
        shown = list(islice(installed, SHOWN))
        for other in shown:
            # Of its other tags it may get or lose some, and this stays.
            other.metadata.tags = [tag for tag in other.metadata.tags if tag in own]
        tags = Counter(tag for other in shown for tag in other.metadata.tags)
        return Related(tuple(shown), tags.most_common(1)[0][0] if tags else ""), due.next_due(moment)

    own = set(node.metadata.tags)
    if not own:
        return Related()
    return version_cache.get_or_set(("related", node.pk, node.metadata.nonce, *node.metadata.tags), moment, read)


def _alike(node: Node, others: Sequence[Document]) -> list[Document]:
    """Return what is stored of others by how much they share with a node, the newest first of those that share as much."""
    tags = set(node.metadata.tags)
    words = set(titles.words(node.metadata.title))
    shared = [
        (tags.intersection(other["metadata"]["tags"]), words.intersection(_title_words(other))) for other in others
    ]
    # What few have says more than what all have: "the", say.
    common = Counter(one for both in shared for part in both for one in part)

    def weight(part: Iterable[str]) -> float:
        return sum(log(1 + len(others) / common[one]) for one in part)

    scores = {
        other["_id"]: WORTH_OF_A_TAG * weight(t) + weight(w) for other, (t, w) in zip(others, shared, strict=True)
    }
    return sorted(others, key=lambda other: -scores[other["_id"]])


def _title_words(document: Document) -> Sequence[str]:
    """Return the words of a stored title, in whatever changes are scheduled: none of a node without them."""
    words = derived_of(document).get("title_words")
    return words if isinstance(words, list) else ()


def titled(sections: Tree, words: Sequence[str], moment: datetime, *, size: int, milliseconds: float) -> list[Node]:
    """Return up to `size` live pages whose titles have words (as marginalia.markup.titles keeps them), the most of them first.

    One query along an index, of COMPARED documents at most; [] where it takes longer than it may.
    """
    wanted = {
        "derived.title_words": {"$in": list(words)},
        "metadata.parent_id": {"$in": sections.live_ids(moment)},
        **live(moment),
    }
    fields = for_readers({**LISTED, "derived.title_words": 1}, moment)
    documents: list[Document] = []
    try:
        with search.at_most(milliseconds):
            found = database()[NODES]
            documents += (
                read_with_hint(
                    keys_of("by_title_word"), lambda hint: found.find(wanted, fields).hint(hint).limit(COMPARED)
                )
                if words
                else ()
            )
    except search.TooSlow:
        return []

    def missing(document: dict[str, Any]) -> int:
        return len(set(words) - set(_title_words(document)))

    nodes = readable_nodes(NODES, sorted(documents, key=missing))
    return [node for node in nodes if node.content_type.is_installed][:size]
