"""Find pages that share tags with a page."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from math import log

from marginalia.markup import titles
from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import NODES, keys_of
from nodes.models import Node, derived_of, version_cache
from nodes.models.tree import Tree
from nodes.selectors import due
from nodes.selectors.listing import LISTED, NEWEST_FIRST, for_readers, public_filter, readable_nodes

# Maximum number of pages with shared tags that are compared, newest first, and maximum number of related pages that are
# shown.
MAX_COMPARED = 50
MAX_SHOWN = 3
# How many shared title words count as much as one shared tag.
TAG_WEIGHT = 3


@dataclass(frozen=True)
class Related:
    """The pages that are related to a page, and the tag that most of them share with that page."""

    nodes: tuple[Node, ...] = ()
    tag: str = ""


def find_related(sections: Tree, node: Node, moment: datetime) -> Related:
    """Return up to MAX_SHOWN live nodes that share tags with `node`, most similar first.

    Only the newest MAX_COMPARED nodes are compared. The rarer the tags and title words that a node shares with `node`,
    the more similar it is. The returned nodes contain only the tags that they share with `node`. The result is cached
    in memory.
    """

    def read() -> tuple[Related, datetime | None]:
        base = {
            "metadata.tags": {"$in": node.metadata.tags},
            "_id": {"$ne": node.pk},
            **public_filter(sections, moment),
        }
        fields = for_readers({**LISTED, "derived.title_words": 1}, moment, tagged=own_tags)
        collection = database()[NODES]
        documents = read_with_hint(
            keys_of("by_tag"),
            lambda hint: collection.find(base, fields).sort(NEWEST_FIRST).limit(MAX_COMPARED).hint(hint),
        )
        # This is an iterator, so that nodes are created only for the few documents that are shown.
        nodes = readable_nodes(NODES, _sort_by_similarity(node, list(documents)))
        # Scheduled changes that are already due may have removed the shared tags, so compare the tags again.
        candidates = (
            other for other in nodes if other.content_type.is_installed and own_tags & set(other.metadata.tags)
        )
        shown = list(islice(candidates, MAX_SHOWN))
        for other in shown:
            # Keep only the shared tags, so that changes to other tags don't invalidate the cached result.
            other.metadata.tags = [tag for tag in other.metadata.tags if tag in own_tags]
        tags = Counter(tag for other in shown for tag in other.metadata.tags)
        return Related(tuple(shown), tags.most_common(1)[0][0] if tags else ""), due.next_due(moment)

    own_tags = set(node.metadata.tags)
    if not own_tags:
        return Related()
    return version_cache.get_or_set(("related", node.pk, node.metadata.nonce, *node.metadata.tags), moment, read)


def _sort_by_similarity(node: Node, documents: Sequence[Document]) -> list[Document]:
    """Sort documents by similarity to `node`, most similar first. Equally similar documents keep their order."""
    tags = set(node.metadata.tags)
    words = set(titles.title_words(node.metadata.title))
    shared = [
        (tags.intersection(document["metadata"]["tags"]), words.intersection(_title_words(document)))
        for document in documents
    ]
    # Rare tags and words have a higher weight than those that most pages have, such as "the".
    frequency = Counter(term for both in shared for terms in both for term in terms)

    def weight(terms: Iterable[str]) -> float:
        return sum(log(1 + len(documents) / frequency[term]) for term in terms)

    scores = {
        document["_id"]: TAG_WEIGHT * weight(shared_tags) + weight(shared_words)
        for document, (shared_tags, shared_words) in zip(documents, shared, strict=True)
    }
    return sorted(documents, key=lambda document: -scores[document["_id"]])


def _title_words(document: Document) -> Sequence[str]:
    """Return the stored title words of a document, or () if there are none."""
    words = derived_of(document).get("title_words")
    return words if isinstance(words, list) else ()
