"""Remove and restore many comments of a discussion, about as fast as one.

A group of comments shares one claim, like the comments of an import (see importing.py). The claim contains their slugs.
Each change has an id of its own, which is derived from the claim, so that anyone who finds the claim after a crash can
count which of its changes were made. All calls with one token use the same `op`. If a call is repeated after a crash, it
therefore first completes the claim that it finds.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b

from bson import ObjectId

from marginalia.comments import slugs
from marginalia.comments.backends.discussions import BEGINNING, Claim, Intent, read_claims
from marginalia.comments.backends.store import Store
from marginalia.comments.backends.stored import BLANK, FIELDS, Document
from marginalia.comments.backends.writing.changing import Changing
from marginalia.comments.errors import DiscussionBusy
from marginalia.comments.types import State, Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import batched, insert_new

# How many comments share a claim. This number is lower than MAX_TOUCHED, the number of touched comments at which
# writers have to wait for a converter.
GROUP = 250
# A process that was suspended for longer than this gives up, because another process may have taken over its work.
MAX_SECONDS = 60
REMOVE, RESTORE = "remove-many", "restore-many"
DELTAS = {REMOVE: -1, RESTORE: 1}


class Bulk(Changing):
    """The part of the backend that removes and restores many comments at once."""

    def remove_many(self, target: Target, wanted: Iterable[str], *, token: str, by: str = "") -> int:
        return self._change_many(target, wanted, REMOVE, token, by)

    def restore_many(self, target: Target, wanted: Iterable[str], *, token: str, by: str = "") -> int:
        return self._change_many(target, wanted, RESTORE, token, by)

    def commit_abandoned(self, token: str) -> None:
        """Commit the claims of a process that died while it changed comments with this token."""
        ops = [op_of(kind, token) for kind in DELTAS]
        # The condition on `at` lets the server use the index of discussions with claims.
        query = {"claims.at": {"$gt": BEGINNING}, "claims.op": {"$in": ops}}
        for document in self.store.discussions.collection.find(query):
            for claim in read_claims(document):
                if claim.op in ops:
                    self.store.discussions.commit(with_delta(claim, note_changes(self.store, claim)))

    def _change_many(self, target: Target, wanted: Iterable[str], kind: str, token: str, by: str) -> int:
        return sum(
            self._change_group(target, tuple(group), kind, token, by) for group in batched(dict.fromkeys(wanted), GROUP)
        )

    def _change_group(self, target: Target, group: tuple[str, ...], kind: str, token: str, by: str) -> int:
        discussions = self.store.discussions
        deadline = time.monotonic() + MAX_SECONDS
        changed = 0
        while True:
            if time.monotonic() > deadline:
                raise DiscussionBusy(str(target))
            claim = discussions.claim(target, Intent(op_of(kind, token), "", kind, slugs=group))
            layout = self.store.layouts.of(claim.place)
            lookup = layout.look(claim.place, claim.slugs)
            changes = {
                slug: (stored["rev"], {**fields, **_marks(claim, stored)})
                for slug, stored, fields in self._possible(claim, lookup.comments, token)
            }
            if changes and claim.is_stale:
                continue
            if changes:
                self._keep_all(claim, (lookup.comments[slug] for slug in changes), by)
                layout.change_many(claim.place, changes, lookup)
            made = note_changes(self.store, claim)
            if not discussions.commit(with_delta(claim, made)):
                continue
            changed += len(made)
            # Look again if another writer has changed a comment at the same time, or if this was an earlier claim.
            if changes.keys() <= made and tuple(claim.slugs) == group:
                if kind == RESTORE and changes:
                    self.promote(target, layout.outgrown(claim.place, layout.look(claim.place, group[:1])))
                return changed

    def _possible(
        self, claim: Claim, comments: Mapping[str, Document], token: str
    ) -> Iterator[tuple[str, Document, Document]]:
        """Yield (slug, comment, new fields) for each comment that the claim can still change."""
        if claim.kind == REMOVE:
            # A moderator may have restored a comment that was removed with this token before. It stays public.
            before = self._once_changed(claim)
            for slug, stored in comments.items():
                if stored["state"] == State.PUBLIC.value and slug not in before:
                    yield slug, stored, BLANK
            return
        removed = {
            slug: stored
            for slug, stored in comments.items()
            if stored["state"] == State.REMOVED.value and stored["op"] == op_of(REMOVE, token)
        }
        ids = [stored["change"] for stored in removed.values()]
        of_comments = {"discussion_id": claim.place.target.id, "slug": {"$in": list(removed)}}
        for old in self.store.history.find({**of_comments, "_id": {"$in": ids}}):
            yield old["slug"], removed[old["slug"]], {name: old[name] for name in BLANK}

    def _once_changed(self, claim: Claim) -> set[str]:
        """Return the slugs of comments with a previous version that was made with the claim's `op`."""
        query = {"discussion_id": claim.place.target.id, "slug": {"$in": list(claim.slugs)}, "op": claim.op}
        return {entry["slug"] for entry in self.store.history.find(query, {"slug": 1})}

    def _keep_all(self, claim: Claim, documents: Iterable[Document], by: str) -> None:
        moment = now()
        entries = [
            {
                "_id": change_id(claim, stored["slug"], stored["rev"]),
                "discussion_id": claim.place.target.id,
                **{name: stored[name] for name in FIELDS},
                "at": moment,
                "by": by,
            }
            for stored in documents
        ]
        insert_new(self.store.history, entries)


def op_of(kind: str, token: str) -> str:
    """Return the `op` of the changes of one kind that are made with a token."""
    return slugs.part(f"{kind}:{token}")


def change_id(claim: Claim, slug: str, rev: int) -> ObjectId:
    """Return the id of the change that a claim makes to revision `rev` of a comment."""
    return ObjectId(blake2b(f"{claim.change} {slug} {rev}".encode(), digest_size=12).digest())


def _marks(claim: Claim, stored: Document) -> Document:
    rev = stored["rev"]
    return {"rev": rev + 1, "change": change_id(claim, stored["slug"], rev), "op": claim.op}


def note_changes(store: Store, claim: Claim) -> set[str]:
    """Catalogue the comments of a claim. Return the slugs of the comments that were changed with the claim."""
    comments = store.layouts.of(claim.place).look(claim.place, claim.slugs).comments
    store.catalogue.note(claim.place.target, *comments.values())
    made = {slug for slug, stored in comments.items() if _was_made(claim, stored)}
    others = [slug for slug in claim.slugs if slug not in made]
    if others:
        # Comments that were changed again in the meantime have a previous version that was made with the claim.
        query = {"discussion_id": claim.place.target.id, "slug": {"$in": others}, "op": claim.op}
        versions = store.history.find(query, {"slug": 1, "rev": 1, "change": 1})
        made |= {version["slug"] for version in versions if _was_made(claim, version)}
    return made


def with_delta(claim: Claim, made: set[str]) -> Claim:
    """Return a claim with the `delta` of the changes that were made with it."""
    return replace(claim, delta=DELTAS[claim.kind] * len(made))


def _was_made(claim: Claim, version: Document) -> bool:
    return bool(version["change"] == change_id(claim, version["slug"], version["rev"] - 1))
