"""The catalogue: one entry per published comment, in any layout, with the comment's state and its terms.

Searches, bans and bulk decisions find comments by their terms (see marginalia/comments/terms.py). Pending comments have
no entry, because their own documents contain their terms.

A writer stores the entry after the comment and before the commit. If the writer dies in between, its claim remains, and
the repair that commits the claim also stores the entry. The entry has the revision of the comment and only ever moves
to a higher one, so a slow writer can't replace a newer entry.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pymongo import UpdateOne
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import BulkWriteError

from marginalia.comments import terms
from marginalia.comments.backends.discussions import PRIMARY_ONLY
from marginalia.comments.backends.stored import Document
from marginalia.comments.types import State, Target, TermKind, Verdict
from marginalia.mongo.connection import insert_new, non_duplicate_errors


class Catalogue:
    """Access to the collection `comments.catalogue`."""

    def __init__(self, db: Database[Document]) -> None:
        self.stored = db["comments.catalogue"]
        # The commit that follows waits until the server has stored both durably.
        self._writing: Collection[Document] = self.stored.with_options(write_concern=PRIMARY_ONLY)

    def note(self, target: Target, *documents: Mapping[str, Any], erased: bool = False) -> None:
        """Store the entries of comments as they are stored now. `erased` removes the content of the entries.

        Entries that already have the revision of their comment, or a higher one, are left alone.
        """
        # If a comment that hasn't been changed has an entry, the entry is up to date.
        self.note_new((target, document) for document in documents if document["rev"] == 1)
        changed: Sequence[Mapping[str, Any]] = [document for document in documents if document["rev"] > 1]
        if not erased and len(changed) > 1:
            changed = self._note_states(target, changed)
        updates = [_update(target, document, erased=erased) for document in changed]
        # A duplicate key means that an entry exists. Unless its revision is lower, there is nothing to do. If another
        # writer has inserted it just now, its revision can be lower, so try again.
        for _attempt in range(2):
            if not updates:
                return
            try:
                self._writing.bulk_write(updates, ordered=False)
                return
            except BulkWriteError as error:
                if non_duplicate_errors(error):
                    raise
                updates = [updates[failure["index"]] for failure in error.details["writeErrors"]]

    def note_new(self, comments: Iterable[tuple[Target, Mapping[str, Any]]]) -> None:
        """Store the entries of comments that have not been changed yet. Entries that already exist are left alone."""
        entries = [
            {
                "discussion_id": target.id,
                **{name: document[name] for name in ("slug", "rev", "state", "posted")},
                "terms": terms_of(target, document) if document["state"] == State.PUBLIC.value else [],
            }
            for target, document in comments
        ]
        if entries:
            insert_new(self._writing, entries)

    def _note_states(self, target: Target, documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Record removals and restorations, which change only the state, with one update for each revision.

        Return the documents whose entries remain to be stored.
        """
        groups: dict[tuple[int, str], list[Mapping[str, Any]]] = defaultdict(list)
        rest: list[Mapping[str, Any]] = []
        for document in documents:
            groups[document["rev"], document["state"]].append(document)
        for (rev, state), group in groups.items():
            slugs = [document["slug"] for document in group]
            query: Document = {"discussion_id": target.id, "slug": {"$in": slugs}, "rev": rev - 1}
            change: Document = {"$set": {"rev": rev, "state": state}}
            if state == State.PUBLIC.value:
                # A comment that was removed before and is public now has been restored, with the same text.
                query |= {"state": State.REMOVED.value, "terms.0": {"$exists": True}}
                change["$unset"] = {"verdict": ""}
            if self._writing.update_many(query, change).matched_count < len(group):
                rest += group
        return rest

    def mark_spam(self, target: Target, slug: str) -> None:
        """Record that a removed comment was spam. The next restoration of the comment deletes the mark."""
        query = {"discussion_id": target.id, "slug": slug, "state": State.REMOVED.value}
        self.stored.update_one(query, {"$set": {"verdict": Verdict.SPAM.value}})

    def erase(self, query: Document) -> None:
        """Remove the content of the entries that match `query`."""
        self.stored.update_many(query, {"$set": {"terms": [], "state": State.REMOVED.value}})

    def revisions(self, target: Target, slugs: Sequence[str]) -> dict[str, int]:
        """Return the revisions of the entries of comments, keyed by slug."""
        query = {"discussion_id": target.id, "slug": {"$in": slugs}}
        cursor = self.stored.find(query, {"_id": 0, "slug": 1, "rev": 1})
        return {entry["slug"]: int(entry["rev"]) for entry in cursor}


def _update(target: Target, document: Mapping[str, Any], *, erased: bool) -> UpdateOne:
    rev = document["rev"]
    query = {"discussion_id": target.id, "slug": document["slug"], "rev": {"$lt": rev}}
    # A tombstone keeps the terms of its entry, which moderators can still search. They must not be written again,
    # because the author may have been erased since. If the entry missed a change, its terms may be those of another
    # text.
    terms: Any = {"$cond": [{"$eq": ["$rev", rev - 1]}, "$terms", []]}
    if document["state"] == State.PUBLIC.value:
        terms = {"$literal": terms_of(target, document)}
    elif erased:
        terms = []
    posted = {"$ifNull": ["$posted", document["posted"]]}
    fields = {"rev": rev, "state": document["state"], "posted": posted, "terms": terms}
    forgotten = [{"$unset": "verdict"}] if document["state"] == State.PUBLIC.value else []
    return UpdateOne(query, [{"$set": fields}, *forgotten], upsert=True)


def terms_of(target: Target, document: Mapping[str, Any]) -> list[str]:
    """Return the terms of a stored or pending comment on `target`."""
    author = document["author"]
    own = terms.of_comment(
        name=author["name"],
        account=author["id"] or "",
        email=author.get("email", ""),
        source=document["source"],
        html=document["html"],
    )
    return [TermKind.MODEL.term(target.label), *own]


def author_query(query: Mapping[str, str]) -> Document:
    """Return the filter for the entries of an author, who is given as {"id": …} or {"email": …}."""
    ((key, value),) = query.items()
    kind = TermKind.ACCOUNT if key == "id" else TermKind.EMAIL
    return {"terms": kind.term(value)}
