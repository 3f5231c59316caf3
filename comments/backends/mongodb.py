"""The back end on MongoDB: the contract, put together from the protocols; each discussion says in which schema it is
kept."""

import contextlib
import logging
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any, TypeVar, cast

from pymongo.database import Database
from pymongo.errors import PyMongoError

from comments import conf
from comments.backends.across import Across
from comments.backends.attempt import Converted, in_batches
from comments.backends.base import Backend
from comments.backends.conversion import SORTED_IN_MEMORY, Conversion
from comments.backends.holding import Holding
from comments.backends.importing import Importing
from comments.backends.posting import Posting
from comments.backends.reading import Reading, as_comments
from comments.backends.repairing import Repairing
from comments.backends.schemas import Schemas
from comments.backends.stored import Document, Place, Written, comment, discussion, held, place
from comments.conf import native
from comments.errors import (
    CommentError,
    CommentNotFound,
    ConversionFailed,
    DiscussionBusy,
    DiscussionFull,
    EditConflict,
)
from comments.types import (
    Comment,
    Discussion,
    Held,
    NewComment,
    Order,
    Page,
    Posted,
    Replaced,
    Target,
    Verdict,
)
from mongo.connection import database

# Seconds that a poster waits for others to end, to promote a discussion.
PROMOTION_PATIENCE = 2.0
logger = logging.getLogger(__name__)
T = TypeVar("T")


class MongoBackend(Backend):
    """All schemas on one database: the one that COMMENTS["DATABASE"] names, unless another is given."""

    def __init__(self, db: Database[Document] | None = None) -> None:
        self.db = database(conf.database_alias()) if db is None else db
        self.schemas = Schemas(self.db)
        self.posting = Posting(self.db, self.schemas)
        self.discussions_ = self.posting.discussions
        self.reading = Reading(self.schemas)
        self.repairing = Repairing(self.posting)
        self.changing = self.repairing.changing
        self.conversion = Conversion(self.repairing)
        self.importing = Importing(self.posting, self._promote)
        self.across = Across(self.db, self.schemas)
        self.holding = Holding(self.db)

    # Writing ---------------------------------------------------------------------------------------------------------

    def post(self, target: Target, new: NewComment) -> Posted:
        done = self._with_room(target, lambda: self.posting.post(target, new))
        # The comment is there: whatever keeps this from being done now, whoever posts next does it.
        try:
            self._promote(target, done.outgrown)
            if done.has_leftovers:
                self.conversion.drop_leftovers(target)
            if done.has_old_claims:
                self.repairing.repair_claims(target)
        except (CommentError, PyMongoError) as error:
            logger.warning("%s was not tidied up: %s", target.id, error)
        return done.posted

    def finish(self, target: Target, slug: str) -> bool:
        return self.repairing.finish(target, slug)

    def _with_room(self, target: Target, work: Callable[[], T]) -> T:
        """Do it; where an embedded discussion takes no more, because nobody could promote it so far, after promoting it."""
        try:
            return work()
        except DiscussionBusy as busy:
            if self.discussion(target).schema == "embedded":
                self._promote(target, conf.options(target.label, "embedded")["PROMOTE_TO"])
            elif not isinstance(busy, DiscussionFull):  # else somebody else has promoted it
                raise
            return work()

    def _promote(self, target: Target, schema: str) -> bool:
        """Move a discussion that has outgrown its schema, to this one unless it is ""; return whether that failed not. The next
        write tries again, should this fail."""
        if not schema:
            return True
        try:
            self.conversion.convert(target, schema, self.discussion(target).order, patience=PROMOTION_PATIENCE)
        except ConversionFailed as error:
            logger.info("%s was not promoted: %s", target.id, error)
            return False
        return True

    def import_(self, target: Target, comments: Iterable[NewComment]) -> int:
        new = self.importing.store(target, comments)
        # Also where nothing is new: an import that stopped may have stored it.
        if any(a.posted > b.posted for a, b in pairwise(self.iterate(target))):
            self.renumber(target)
        return new

    def renumber(self, target: Target) -> None:
        """Number a discussion anew by (posted, slug), by converting it to what it is."""
        found = self.discussion(target)
        self.conversion.convert(target, found.schema, found.order, renumber=True)

    def walk(self, label: str = "") -> Iterator[Discussion]:
        """Yield every discussion, of one label if it is given."""
        for document in self.discussions_.walk(label):
            yield discussion(document)

    def convert(
        self, target: Target, schema: str, order: Order, *, progress: Callable[[int], None] = lambda copied: None
    ) -> Converted | None:
        """Convert a discussion to another schema or order while it is in use. Raises ConversionFailed."""
        return self.conversion.convert(target, schema, order, progress=progress)

    def edit(self, target: Target, slug: str, *, source: str, html: str, rev: int, token: str, by: str = "") -> Comment:
        return self._changed(target, self.changing.edit(target, slug, source, html, rev, token, by))

    def remove(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        return self._changed(target, self.changing.remove(target, slug, rev, token, by))

    def restore(self, target: Target, slug: str, *, rev: int, token: str, by: str = "") -> Comment:
        return self._changed(target, self.changing.restore(target, slug, rev, token, by))

    def _changed(self, target: Target, done: Written) -> Comment:
        self._promote(target, done.outgrown)
        return comment(target, done.document)

    def erase_author(self, *, id: str = "", email: str = "") -> int:
        return self.across.erase_author(self.changing, {"id": id} if id else {"email": email.lower()})

    def close(self, target: Target) -> None:
        self.discussions_.set_state(target, "closed")

    def open(self, target: Target) -> None:
        self.discussions_.set_state(target, "open")

    def forget(self, target: Target) -> int:
        found = self._document(target)
        if found is None:
            return 0
        where = place(found)
        gone = sum(1 for _ in self.reading.documents(where, self.schemas.of(where).orders(where)[0]))
        for schema in self.schemas.all:
            schema.clear(place(found), {"$gte": 0})
        for name in ("comments.pending", "comments.history"):
            self.db[name].delete_many({"discussion_id": target.id})
        self.db.discussions.delete_one({"_id": target.id})
        return gone

    # The queue -------------------------------------------------------------------------------------------------------

    def hold(self, target: Target, new: NewComment, reasons: tuple[str, ...] = ()) -> Posted:
        return self.posting.hold(target, new, reasons)

    def approve(self, held_id: str, by: str = "", rev: int = 0) -> Comment:
        waiting = self.holding.settle(held_id, rev)
        target = Target.parse(waiting["discussion_id"])
        done = self._with_room(target, lambda: self.posting.publish(waiting))
        stored = done.document
        try:
            self.holding.decide(waiting, Verdict.APPROVED, by)
        except CommentNotFound:  # its author was erased meanwhile
            self.changing.erase_again(target, stored)
            raise
        self._promote(target, done.outgrown)
        if self._may_renumber(target, int(stored["number"])):
            with contextlib.suppress(ConversionFailed):  # somebody is at it, and the next approval tries again
                self.renumber(target)
                stored = self._stored(target, stored["slug"])
        return comment(target, stored)

    def _may_renumber(self, target: Target, number: int) -> bool:
        """Return whether a place is crowded, and the discussion short: numbering a long one anew takes longer than a moderator
        waits, and is left to `check_comments --fix`."""
        return self.holding.is_crowded(target, number) and self.discussion(target).last_number <= SORTED_IN_MEMORY

    def change_held(self, held_id: str, *, source: str, html: str, rev: int) -> Held:
        return held(self.holding.change(held_id, source, html, rev))

    def withdraw(self, held_id: str) -> Held:
        return held(self.holding.withdraw(held_id))

    def reject(self, held_id: str, by: str = "", verdict: Verdict = Verdict.REJECTED) -> Held:
        waiting = self.holding.get(held_id)
        rejected = self.holding.decide(waiting, verdict, by)
        if rejected.get("settled") and rejected["state"] == verdict.value and verdict is not Verdict.WAITING:
            # Whoever was publishing it stopped in between: what the queue calls rejected is not to be read.
            self._unpublish(held(rejected), by)
        return held(rejected)

    def _unpublish(self, rejected: Held, by: str) -> None:
        with contextlib.suppress(CommentNotFound, EditConflict):
            stored = self.get(rejected.target, rejected.slug)
            if not stored.removed:
                self.remove(rejected.target, rejected.slug, rev=stored.rev, token=f"reject {rejected.id}", by=by)

    def held(
        self,
        *,
        target: Target | None = None,
        author_id: str = "",
        slug: str = "",
        verdict: Verdict = Verdict.WAITING,
        limit: int = 100,
        after: str = "",
    ) -> tuple[Held, ...]:
        wanted = {"discussion_id": target.id if target else "", "author.id": author_id, "slug": slug}
        return tuple(held(document) for document in self.holding.find(wanted, verdict, limit, after))

    def get_held(self, held_id: str) -> Held:
        return held(self.holding.get(held_id))

    def held_by_token(self, target: Target, token: str) -> Held | None:
        found = self.holding.of_token(target, token)
        return held(found) if found else None

    # Reading ---------------------------------------------------------------------------------------------------------

    def discussion(self, target: Target) -> Discussion:
        found = self._document(target)
        return discussion(found) if found else unbegun(target)

    def discussions(self, targets: Iterable[Target]) -> dict[Target, Discussion]:
        wanted = list(dict.fromkeys(targets))
        cursor = self.db.discussions.find(
            {"_id": {"$in": [t.id for t in wanted]}}, {"claims": {"$slice": 1}, "touched": 0}
        )
        found = {document["_id"]: discussion(document) for document in cursor}
        return {target: found.get(target.id) or unbegun(target) for target in wanted}

    def _document(self, target: Target) -> Document | None:
        return self.discussions_.find(target)

    def _where(self, target: Target) -> tuple[Discussion, Place]:
        found = self._document(target)
        if found is None:
            missing = unbegun(target)
            return missing, Place(target, missing.schema, missing.order, 0, 1)
        return discussion(found), place(found)

    def _read(self, target: Target, read: Callable[[Discussion, Place], T]) -> T:
        """Return what `read` makes of a discussion and its present copy; again, if that was dropped while it read."""
        while True:
            began = time.monotonic()
            found, where = self._where(target)
            missing, result = None, None
            try:
                result = read(found, where)
            except CommentNotFound as error:
                missing = error
            if self._is_whole(found, began, result) or self.discussion(target).epoch == found.epoch:
                if missing:
                    raise missing
                return cast("T", result)

    def _is_whole(self, found: Discussion, began: float, result: Any) -> bool:
        """Return whether it is certain, without asking, that a copy stayed there while it was read since `began`.

        What is replaced is kept for a while, so that something found soon is all there was. But nothing may be found of an
        embedded copy at once: another is written in its place.
        """
        if not found.begun or (isinstance(result, Page) and not found.last_number):
            return True
        is_found = bool(result.comments) if isinstance(result, Page) else result is not None
        return is_found and time.monotonic() - began < conf.get("KEEP_OLD_COPY")

    def page(
        self,
        target: Target,
        *,
        order: Order | None = None,
        size: int = 50,
        number: int = 0,
        after: str = "",
        before: str = "",
        at: str = "",
    ) -> Page:
        def read(found: Discussion, where: Place) -> Page:
            asked = order or shown(found)
            if not found.begun:
                if at:
                    raise CommentNotFound(at)
                return Page(found, (), asked, asked, size, pages=1, number=1)
            used = self._affordable(found, where, asked)
            if used is Order.THREADED:
                page = self.reading.threaded(found, where, size, after, before, at)
            else:
                page = self.reading.by_number(found, where, used, size, number, at)
            return replace(page, asked=asked)

        return self._read(target, read)

    def _affordable(self, found: Discussion, where: Place, asked: Order) -> Order:
        """Return `asked` if the discussion is stored in that order, or short enough to be sorted; else its own
        order."""
        if native(asked) in self.schemas.of(where).orders(where):
            return asked
        cap = conf.options(found.target.label, found.schema)["CAP"]
        return asked if max(found.last_number, found.count) <= cap else found.order

    def get(self, target: Target, slug: str) -> Comment:
        return comment(target, self._stored(target, slug))

    def _stored(self, target: Target, slug: str) -> Document:
        def read(found: Discussion, where: Place) -> Document:
            if not found.begun:
                raise CommentNotFound(slug)
            return self.reading.get(where, slug)

        return self._read(target, read)

    def newest(self, target: Target, limit: int = 50) -> Page:
        def read(found: Discussion, where: Place) -> Page:
            newest = self.schemas.of(where).newest(where, limit) if found.begun else []
            return Page(found, as_comments(where, newest), Order.NEWEST, Order.NEWEST, limit)

        return self._read(target, read)

    def subdiscussion(self, target: Target, slug: str, *, size: int = 50, after: str = "") -> Page:
        return self._read(target, lambda found, where: self.reading.below(found, where, slug, size, after))

    def iterate(self, target: Target, *, order: Order = Order.OLDEST) -> Iterator[Comment]:
        for document in self._documents(target, native(order)):
            yield comment(target, document)

    def _documents(self, target: Target, order: Order) -> Iterator[Document]:
        """Yield every comment once, however long that takes: a copy is read for as long as it is kept, the rest of the next."""
        yielded = array("q")
        while True:
            seen = set(yielded)
            checked = time.monotonic()
            found, where = self._where(target)
            if not found.begun:
                return
            for batch in in_batches(self.reading.documents(where, order)):
                if time.monotonic() - checked >= conf.get("KEEP_OLD_COPY"):
                    # Some of these may have been dropped before they were read, unless the copy is in use still.
                    checked = time.monotonic()
                    if self.discussion(target).epoch != where.epoch:
                        break
                for document in batch:
                    if (key := hash(document["slug"])) not in seen:
                        yielded.append(key)
                        yield document
            if self.discussion(target).epoch == where.epoch:
                return

    def count(self, target: Target) -> int:
        return self.discussion(target).count

    def recent(self, limit: int = 10, *, label: str = "") -> tuple[Comment, ...]:
        return self.across.recent(limit, label)

    def by_author(self, author_id: str, *, limit: int = 50, before: datetime | None = None) -> tuple[Comment, ...]:
        return self.across.by_author(author_id, limit, before)

    def written_by(self, *, id: str = "", email: str = "") -> Iterator[Comment | Held | Replaced]:
        return self.across.written_by({"id": id} if id else {"email": email.lower()})

    def targets(self, *, label: str = "") -> Iterator[Target]:
        # However long each is worked on: no cursor is kept open.
        return (found.target for found in self.walk(label))

    def with_addresses(self, target: Target) -> Iterator[tuple[Comment, str]]:
        for document in self._documents(target, Order.OLDEST):
            yield comment(target, document), document["author"].get("email", "")

    def history(self, target: Target, slug: str) -> tuple[Replaced, ...]:
        return self.changing.replaced(target, slug, self._stored(target, slug))

    def email_of(self, target: Target, slug: str) -> str:
        return str(self._stored(target, slug)["author"].get("email", ""))


def shown(found: Discussion) -> Order:
    """Return the order in which a discussion is shown to who asks for none: its own, or newest first if settings say
    so."""
    configured = conf.storage(found.target.label).shown
    return configured if native(configured) is found.order else found.order


def unbegun(target: Target) -> Discussion:
    """Return the discussion that a target will have when someone posts."""
    storage = conf.storage(target.label)
    return Discussion(target, storage.schema, storage.order)
