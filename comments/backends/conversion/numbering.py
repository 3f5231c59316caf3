"""Numbering a discussion anew, by (posted, slug): for comments that were imported among younger ones."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from comments.backends.stored import Document

# Comments approved late share numbers. More than so many of them among a hundred numbers have the discussion numbered anew.
HUNDRED, CROWD = 100, 200


class Numbers:
    """A new numbering by (posted, slug): what a comment's number becomes."""

    def __init__(self) -> None:
        self.ranks: dict[str, int] = {}
        self.times: list[Any] = []
        self.highest = 0

    @classmethod
    def of(cls, documents: Iterator[Document]) -> "Numbers":
        """Number these comments; about 250 bytes of memory each."""
        numbers = cls()
        pairs = []
        for document in documents:
            pairs.append((document["posted"], document["slug"]))
            numbers.highest = max(numbers.highest, int(document["number"]))
        pairs.sort()
        numbers.times = [posted for posted, _ in pairs]
        numbers.ranks = {slug: rank for rank, (_, slug) in enumerate(pairs, start=1)}
        return numbers

    @property
    def shift(self) -> int:
        """What is to be added to numbers that were given after the numbering was made."""
        return len(self.times) - self.highest

    def new(self, document: Document) -> int:
        """Return a comment's new number, also for one that was posted or approved since."""
        known = self.ranks.get(document["slug"])
        if known is not None:
            return known
        if document["number"] > self.highest:
            return int(document["number"]) + self.shift
        return self.at(document["posted"])

    def at(self, posted: Any) -> int:
        """Return the number of the last comment at or before a time, at least 1."""
        return max(1, bisect_right(self.times, posted))
