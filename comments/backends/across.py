"""Reads over all discussions, whatever layout each is kept in."""

import heapq
from collections.abc import Iterator
from datetime import datetime

from pymongo import DESCENDING

from comments.backends.discussions import of_label
from comments.backends.erasing import Erasing
from comments.backends.stored import comment, place
from comments.types import Comment, State, Target


class Across(Erasing):
    """Reads of many discussions."""

    def recent(self, limit: int = 10, *, label: str = "") -> tuple[Comment, ...]:
        # `newest` of a discussion is never below the time of its newest public comment: discussions are opened in its order
        # until no unopened one can hold anything newer than what was found (threshold algorithm, Fagin 2001).
        newest: list[Comment] = []
        fields = {"claims": 0, "touched": 0}
        cursor = self.store.discussions.collection.find(of_label(label), fields, batch_size=limit)
        for document in cursor.sort([("newest", DESCENDING)]):
            if len(newest) == limit and document["newest"] <= newest[-1].posted:
                break
            where = place(document)
            found = (comment(where.target, item) for item in self.store.layouts.of(where).newest(where, limit))
            newest = heapq.nlargest(limit, (*newest, *found), key=lambda c: (c.posted, c.slug))
        return tuple(newest)

    def by_author(self, author_id: str, *, limit: int = 50, before: datetime | None = None) -> tuple[Comment, ...]:
        # By where it is: a discussion that switches in between may be met in two layouts.
        found: dict[tuple[str, str], Comment] = {}
        for layout in self.store.layouts.all:
            of_layout = 0
            for target, document in self.current(layout, {"id": author_id}, limit=limit, before=before):
                if document["state"] == State.PUBLIC.value:
                    found[target.id, document["slug"]] = comment(target, document)
                    of_layout += 1
                if of_layout == limit:
                    break
        return tuple(heapq.nlargest(limit, found.values(), key=lambda c: (c.posted, c.slug)))

    def targets(self, *, label: str = "") -> Iterator[Target]:
        return (Target.parse(document["_id"]) for document in self.store.discussions.walk(label))
