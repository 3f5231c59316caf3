"""Renumbering of a discussion in the order of (posted, slug), for example after older comments have been imported."""

from bisect import bisect_right
from collections.abc import Iterable

from marginalia.comments.backends.stored import Document


class Numbers:
    """A new numbering in the order of (posted, slug). It needs about 250 bytes of memory per comment."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.highest = 0
        pairs = []
        for document in documents:
            pairs.append((document["posted"], document["slug"]))
            self.highest = max(self.highest, int(document["number"]))
        pairs.sort()
        # The value to add to the numbers that were assigned after this numbering was computed.
        self.shift = len(pairs) - self.highest
        self.times = [posted for posted, _ in pairs]
        self.ranks = {slug: rank for rank, (_, slug) in enumerate(pairs, start=1)}

    def new(self, document: Document) -> int:
        """Return a comment's new number, even if the comment was stored after this numbering was computed."""
        rank = self.ranks.get(document["slug"])
        if rank is not None:
            return rank
        if document["number"] > self.highest:
            return int(document["number"]) + self.shift
        # The comment was stored after the numbering was computed, but has an old number. It gets the same new number as
        # the last comment that was posted at the same time or earlier.
        return max(1, bisect_right(self.times, document["posted"]))
