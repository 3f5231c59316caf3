"""What all parts of the back end on MongoDB share: one store, and the contract that they fill in together."""

import logging
from collections.abc import Mapping
from typing import Any

from pymongo.database import Database
from pymongo.errors import PyMongoError

from marginalia.comments import conf
from marginalia.comments.backends.base import Backend
from marginalia.comments.backends.discussions import Claim, Discussions
from marginalia.comments.backends.layouts import Layouts, storage_of
from marginalia.comments.backends.stored import Document, place
from marginalia.comments.errors import CommentError
from marginalia.comments.types import Target
from marginalia.mongo.connection import database

# Seconds that a writer waits for others to end, to promote a discussion.
PROMOTION_PATIENCE = 2.0
logger = logging.getLogger(__name__)


class Store:
    """The database of the comments: the one that COMMENTS["DATABASE"] names, unless another is given."""

    def __init__(self, db: Database[Document] | None = None) -> None:
        self.db = database(conf.database_alias()) if db is None else db
        self.discussions = Discussions(self.db, storage_of)
        self.layouts = Layouts(self.db)
        self.pending = self.db["comments.pending"]
        self.history = self.db["comments.history"]
        self.erasures = self.db["comments.erasures"]

    def stored(self, target: Target, slug: str) -> Document | None:
        """Return the comment that has this slug where the discussion is kept at present."""
        epoch = None
        while (found := self.discussions.find(target)) and found["epoch"] != epoch:
            if document := self.layouts.of(place(found)).look(place(found), [slug]).comments.get(slug):
                return document
            epoch = found["epoch"]  # there is none, or the copy was replaced
        return None

    def written_under(self, claim: Claim, stored: Mapping[str, Any]) -> bool:
        """Return whether a stored comment is what this claim was for: that of a post (by its number, which no other has), of an
        approval, or of a change."""
        if claim.kind == "post":
            return bool(stored["number"] == claim.number)
        rev = claim.rev + 1
        if stored["rev"] == rev:
            return bool(stored["change"] == claim.change)
        entry = {"discussion_id": claim.place.target.id, "slug": claim.slug, "rev": rev, "change": claim.change}
        return self.history.find_one(entry, {"_id": 1}) is not None


class Part(Backend):
    """A part of the back end: it fills in some of the contract, on the store that all parts share."""

    store: Store

    def renumber(self, target: Target) -> int | None:
        """Number a discussion anew by (posted, slug). Raises ConversionFailed."""
        found = self.discussion(target)
        return self.convert(target, found.layout, found.order, renumber=True)

    def promote(self, target: Target, layout: str) -> bool:
        """Move a discussion that has outgrown its layout to this one, unless it is ""; return whether it is there. Should
        this fail, the next writer tries again: what was to be written is."""
        try:
            if layout:
                self.convert(target, layout, self.discussion(target).order, patience=PROMOTION_PATIENCE)
        except (CommentError, PyMongoError) as error:
            logger.info("%s was not promoted: %s", target, error)
            return False
        return True
