"""Comments that were written elsewhere: many under one claim, so that a batch costs about what a single post does.

The claim names the slugs of the batch and a range of numbers; what was written under it is found by both.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from comments import slugs
from comments.backends.claims import Claim, Intent
from comments.backends.memory import sort_key
from comments.backends.posting import Posting, slug_of
from comments.backends.schemas import Schemas
from comments.backends.stored import Document, body, place, placed
from comments.errors import CommentError, InvalidParent
from comments.types import NewComment, State, Target
from mongo.connection import now

# Comments under one claim: fewer than a converter takes before writers wait for it.
BATCH = 250


class Importing:
    """Writes of many comments. `promote` moves a discussion to the schema that it is given, and returns whether it could."""

    def __init__(self, posting: Posting, promote: Callable[[Target, str], bool]) -> None:
        self.posting, self.promote = posting, promote

    def store(self, target: Target, comments: Iterable[NewComment]) -> int:
        """Store comments; return how many were new. Raises InvalidParent; what came before that is stored."""
        stored, batch = 0, dict[str, NewComment]()
        try:
            for new in comments:
                batch.setdefault(slug_of(new), new if new.posted else replace(new, posted=now()))
                if len(batch) == BATCH:
                    full, batch = batch, {}
                    stored += self._store(target, full)
        finally:
            if batch:
                stored += self._store(target, batch)
        return stored

    def _store(self, target: Target, batch: Mapping[str, NewComment]) -> int:
        discussions = self.posting.discussions
        last = max((new.posted for new in batch.values() if new.posted), default=None)
        # The same batch sent again goes on under the claim that it left.
        op = slugs.part("\n".join(batch))
        is_at_work = False  # another converter
        while wanted := self._wanted(target, op, batch):
            claim = discussions.claim(target, Intent(op, "", "import", "next", posted=last, slugs=tuple(wanted)))
            schema = self.posting.schemas.of(claim.place)
            looked = schema.look(claim.place, [*wanted, *(new.parent for new in wanted.values() if new.parent)])
            documents, orphan = _placed(claim, wanted, looked.found)
            outgrown = schema.outgrown(claim.place, looked, *documents)
            if outgrown and not is_at_work:
                discussions.drop(claim)
                is_at_work = not self.promote(target, outgrown)
                continue
            if claim.stale:
                continue
            order = schema.orders(claim.place)[0]
            try:
                if documents:
                    schema.copy(claim.place, sorted(documents, key=lambda item: sort_key(item, order)))
            except CommentError:
                discussions.drop(claim)
                raise
            if discussions.commit(counted(self.posting.schemas, claim), newest=last, is_others=True):
                if orphan:
                    raise InvalidParent(orphan)
                return len(documents)
        return 0

    def _wanted(self, target: Target, op: str, batch: Mapping[str, NewComment]) -> Mapping[str, NewComment]:
        """Leave out what is stored already, so that an import that is repeated uses no numbers up."""
        found = self.posting.discussions.collection.find_one({"_id": target.id}, {"touched": 0})
        if found is None:
            return batch
        for entry in found["claims"]:
            if entry["op"] == op:
                return {slug: batch[slug] for slug in entry["slugs"]}
        stored = self.posting.schemas.of(place(found)).look(place(found), list(batch)).found
        return {slug: new for slug, new in batch.items() if slug not in stored}


def counted(schemas: Schemas, claim: Claim) -> Claim:
    """Return the claim of a batch with how many public comments were written under it."""
    found = schemas.of(claim.place).look(claim.place, claim.slugs).found.values()
    own = [item for item in found if 0 <= (claim.number or 0) - item["number"] < len(claim.slugs)]
    # What was removed since counts here, and is taken off by its removal.
    return replace(claim, delta=sum(item["state"] == State.PUBLIC.value or item["rev"] > 1 for item in own))


def _placed(claim: Claim, batch: Mapping[str, NewComment], found: Mapping[str, Document]) -> tuple[list[Document], str]:
    """Return the comments to be stored, up to one that answers what is not there; and what that is, "" without one."""
    known, documents = dict(found), list[Document]()
    first = (claim.number or 0) - len(claim.slugs) + 1
    for number, (slug, new) in enumerate(batch.items(), start=first):
        if slug in known:
            continue
        if new.parent and new.parent not in known:
            return documents, new.parent
        answered = known[new.parent] if new.parent else None
        known[slug] = placed(body(new), slug, number, new.posted or claim.posted, answered)
        documents.append(known[slug])
    return documents, ""
