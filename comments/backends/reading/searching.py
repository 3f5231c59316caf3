"""Search published and pending comments in all discussions.

Published comments are found in the catalogue, and pending comments in the queue, with the same filters.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from heapq import nlargest
from typing import Any

from bson import ObjectId

from marginalia.comments import terms
from marginalia.comments.backends.store import Part
from marginalia.comments.backends.stored import Document, read_comment, read_place
from marginalia.comments.types import Comment, Found, Selected, Selection, State, Target, TermKind, Verdict
from marginalia.mongo.reading import read_documents

# Only the newest comments from a network are found.
MAX_FROM_NETWORK = 20_000
# Counting stops at this number of published comments, and at the same number of pending comments.
MAX_COUNTED = 100_000
NEWEST_FIRST = [("posted", -1), ("_id", -1)]
_SHOWN = {"discussion_id": 1, "slug": 1, "posted": 1, "state": 1}


class Searching(Part):
    """The part of the backend that finds comments by their terms."""

    def select(self, selection: Selection) -> Document:
        """Return the filter for a selection, for the catalogue and for the queue.

        For a prefix, the server sorts all the comments that match, because many terms can have the same beginning.
        """
        parts: list[Document] = [{"terms": term} for term in selection.terms]
        parts += [{"terms": {"$regex": f"^{_escape(prefix)}"}} for prefix in selection.prefixes]
        if selection.alike:
            needed = math.ceil(len(selection.alike) * terms.ALIKE)
            shared = {"$setIntersection": [{"$ifNull": ["$terms", []]}, {"$literal": list(selection.alike)}]}
            # A comment that shares enough of the shingles has at least one of these, so the rest need not be looked up.
            looked_up = list(selection.alike)[needed - 1 :]
            parts += [{"terms": {"$in": looked_up}}, {"$expr": {"$gte": [{"$size": shared}, needed]}}]
        if selection.discussions is not None:
            parts.append({"discussion_id": {"$in": list(selection.discussions)}})
        if selection.since:
            parts.append({"posted": {"$gte": selection.since}})
        if selection.until:
            parts.append({"posted": {"$lt": selection.until}})
        if selection.network:
            parts.append(_among(self._from_network(selection.network)))
        if selection.comments is not None:
            parts.append(_among(selection.comments))
        return {"$and": parts} if parts else {}

    def _from_network(self, network: str) -> list[tuple[str, str]]:
        cursor = self.ip_hashes.stored.find({"networks": network}, {"discussion_id": 1, "slug": 1}).sort("at", -1)
        return [(entry["discussion_id"], entry["slug"]) for entry in cursor.limit(MAX_FROM_NETWORK)]

    def count_selected(self, selection: Selection) -> Selected:
        query = self.select(selection)
        stages: list[Document] = [
            {"$limit": MAX_COUNTED},
            {"$group": {"_id": "$discussion_id", "count": {"$sum": 1}}},
        ]
        counts: list[dict[str, int]] = []
        for stored, state in ((self.store.catalogue.stored, State.PUBLIC), (self.store.pending, Verdict.WAITING)):
            groups = stored.aggregate([{"$match": {**query, "state": state.value}}, *stages])
            counts.append({group["_id"]: group["count"] for group in groups})
        published, pending = (sum(by_discussion.values()) for by_discussion in counts)
        is_cut = MAX_COUNTED in (published, pending)
        return Selected(published, pending, len(counts[0].keys() | counts[1].keys()), more=is_cut)

    def search(
        self,
        selection: Selection,
        states: Iterable[State | Verdict],
        *,
        limit: int,
        before: tuple[datetime, str] | None = None,
    ) -> list[Found]:
        query = self.select(selection)
        if before:
            posted, key = before
            older = [{"posted": {"$lt": posted}}, {"posted": posted, "_id": {"$lt": ObjectId(key)}}]
            query = {"$and": [query, {"$or": older}]}
        found: list[Found] = []
        for stored, kind, read in (
            (self.store.catalogue.stored, State, _published),
            (self.store.pending, Verdict, _held),
        ):
            wanted = [state.value for state in states if isinstance(state, kind)]
            if wanted:
                cursor = stored.find({**query, "state": {"$in": wanted}}, _SHOWN).sort(NEWEST_FIRST).limit(limit)
                found += read_documents(stored.name, cursor, read)
        return nlargest(limit, found, key=lambda one: (one.posted, one.id))

    def get_with_texts(self, target: Target, slugs: Iterable[str]) -> dict[str, Comment]:
        discussion = self.store.discussions.find(target)
        if discussion is None:
            return {}
        place = read_place(discussion)
        documents = dict(self.store.layouts.of(place).look(place, list(slugs)).comments)
        removed = {doc["change"]: slug for slug, doc in documents.items() if doc["state"] == State.REMOVED.value}
        query = {"discussion_id": target.id, "slug": {"$in": list(removed.values())}, "_id": {"$in": list(removed)}}
        for old in self.store.history.find(query) if removed else ():
            texts = {name: old[name] for name in ("author", "source", "html")}
            documents[old["slug"]] = {**documents[old["slug"]], **texts}
        return {slug: read_comment(target, document) for slug, document in documents.items()}

    def terms_of(self, target: Target, slug: str) -> tuple[str, ...]:
        query = {"discussion_id": target.id, "slug": slug}
        for stored in (self.store.catalogue.stored, self.store.pending):
            if entry := stored.find_one(query, {"terms": 1}):
                return tuple(entry.get("terms", ()))
        return ()

    def has_spam_by(self, author_id: str, since: datetime) -> bool:
        published = {"terms": TermKind.ACCOUNT.term(author_id), "posted": {"$gte": since}}
        return self._has_spam({"author.id": author_id}, published)

    def has_spam_among(self, comments: Iterable[tuple[Target, str]]) -> bool:
        query = _among((target.id, slug) for target, slug in comments)
        return self._has_spam(query, query)

    def _has_spam(self, queued: Document, published: Document) -> bool:
        spam = {"state": Verdict.SPAM.value}
        removed = {"state": State.REMOVED.value, "verdict": Verdict.SPAM.value}
        return bool(
            self.store.pending.find_one({**queued, **spam}, {"_id": 1})
            or self.store.catalogue.stored.find_one({**published, **removed}, {"_id": 1})
        )


def _published(entry: Mapping[str, Any]) -> Found:
    target = Target.from_id(entry["discussion_id"])
    return Found(str(entry["_id"]), target, entry["slug"], entry["posted"], State(entry["state"]))


def _held(entry: Mapping[str, Any]) -> Found:
    target = Target.from_id(entry["discussion_id"])
    key = str(entry["_id"])
    return Found(key, target, entry["slug"], entry["posted"], Verdict(entry["state"]), held_id=key)


def _among(comments: Iterable[tuple[str, str]]) -> Document:
    by_discussion = defaultdict(list)
    for discussion_id, slug in comments:
        by_discussion[discussion_id].append(slug)
    choices = [{"discussion_id": key, "slug": {"$in": slugs}} for key, slugs in by_discussion.items()]
    return {"$or": choices} if choices else {"discussion_id": {"$in": []}}


def _escape(text: str) -> str:
    """Return a regular expression that matches `text`, in the form that lets MongoDB use an index."""
    return "".join(character if character.isalnum() else f"\\{character}" for character in text)
