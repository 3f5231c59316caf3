"""Store the words of saved nodes, so that searches can correct spelling mistakes."""

from collections.abc import Iterable, Mapping
from typing import Any

from marginalia.mongo.clock import now
from marginalia.mongo.connection import batched, database, insert_new
from nodes.collections import WORDS
from nodes.search import index, vocabulary, words

# Number of words that are checked and deleted at a time.
BATCH = 500
# Maximum number of words that a process remembers, so that it doesn't look them up again.
MAX_REMEMBERED = 200_000
_remembered: set[str] = set()


def learn(metadata: Mapping[str, Any], language: str, body: Iterable[str]) -> None:
    """Store the words of a node that aren't stored yet. Call this function before the node is written.

    Args:
        metadata: The node's new metadata.
        language: The code of the node's language.
        body: The words in the node's text.
    """
    learn_words(vocabulary.words_of(metadata, language, body))


def learn_tags(tags: Iterable[str]) -> None:
    """Store the words of tags that aren't stored yet."""
    learn_words(vocabulary.known_words(words.split(" \n ".join(tags))))


def learn_words(found: Iterable[str]) -> None:
    """Store the words that aren't stored yet."""
    new = set(found) - _remembered
    if not new:
        return
    collection = database()[WORDS]
    stored = {document["_id"] for document in collection.find({"_id": {"$in": list(new)}}, {"_id": 1})}
    if unknown := sorted(new - stored):
        insert_new(collection, [{"_id": word, "near": list(vocabulary.near(word))} for word in unknown])
    if len(_remembered) > MAX_REMEMBERED:
        _remembered.clear()
    _remembered.update(new)


def forget_unused() -> int:
    """Delete the words that no page or photo contains, and return their number.

    Editors can keep saving: if a word is deleted while a page with this word is saved, the word is stored again by a
    later save or by `upgrade_nodes`.
    """
    clear()
    collection = database()[WORDS]
    codes = vocabulary.languages_in_use(now())
    deleted = 0
    for batch in batched((document["_id"] for document in collection.find({}, {"_id": 1})), BATCH):
        unused = [word for word in batch if not vocabulary.is_language(word) and not index.is_used(word, codes)]
        deleted += collection.delete_many({"_id": {"$in": unused}}).deleted_count if unused else 0
    if not collection.find_one({"near": {"$ne": []}}, {"_id": 1}):
        collection.delete_many({})
    return deleted


def clear() -> None:
    """Forget which words are stored, as if the process had just started."""
    _remembered.clear()
