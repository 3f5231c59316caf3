"""Numbering a discussion anew, by (posted, slug): for comments that were imported among younger ones."""

from bisect import bisect_right
from collections.abc import Iterable

from marginalia.comments.backends.stored import Document


class Numbers:
    """A new numbering by (posted, slug): what a comment's number becomes; about 250 bytes of memory a comment."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.highest = 0
        pairs = []
        for document in documents:
            pairs.append((document["posted"], document["slug"]))
            self.highest = max(self.highest, int(document["number"]))
        pairs.sort()
        # What is to be added to numbers that were given after the numbering was made.
        self.shift = len(pairs) - self.highest
        self.times = [posted for posted, _ in pairs]
        self.ranks = {slug: rank for rank, (_, slug) in enumerate(pairs, start=1)}

    def new(self, document: Document) -> int:
        """Return a comment's new number, also for one that was posted or approved since."""
        known = self.ranks.get(document["slug"])
        if known is not None:
            return known
        if document["number"] > self.highest:
            return int(document["number"]) + self.shift
        # That of the last comment at or before its time.
        return max(1, bisect_right(self.times, document["posted"]))
