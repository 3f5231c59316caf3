"""The parts that all of the back end on MongoDB share: the store, and a base class."""

import logging
from collections.abc import Mapping
from typing import Any

from pymongo.database import Database
from pymongo.errors import PyMongoError

from marginalia.comments import conf
from marginalia.comments.backends.base import Backend
from marginalia.comments.backends.discussions import Claim, Discussions
from marginalia.comments.backends.layouts import Layouts, storage_of
from marginalia.comments.backends.stored import Document, read_place
from marginalia.comments.errors import CommentError
from marginalia.comments.types import Target
from marginalia.mongo.connection import database

# Seconds that a writer waits for others to finish before it gives up promoting a discussion.
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

    def find_comment(self, target: Target, slug: str) -> Document | None:
        """Return the comment with this slug from the present copy of the discussion, None if there is none."""
        epoch = None
        while (discussion := self.discussions.find(target)) and discussion["epoch"] != epoch:
            if (
                document := self.layouts.of(read_place(discussion))
                .look(read_place(discussion), [slug])
                .comments.get(slug)
            ):
                return document
            epoch = discussion["epoch"]  # the comment does not exist, or the copy was replaced
        return None

    def was_written_under(self, claim: Claim, stored: Mapping[str, Any]) -> bool:
        """Return whether a stored comment was written under this claim.

        A post is identified by its number, which no other comment has. An approval or a change is identified by its
        change id.
        """
        if claim.kind == "post":
            return bool(stored["number"] == claim.number)
        rev = claim.rev + 1
        if stored["rev"] == rev:
            return bool(stored["change"] == claim.change)
        entry = {"discussion_id": claim.place.target.id, "slug": claim.slug, "rev": rev, "change": claim.change}
        return self.history.find_one(entry, {"_id": 1}) is not None


class Part(Backend):
    """A part of the back end. It implements some of the contract, on the store that all parts share."""

    store: Store

    def renumber(self, target: Target) -> int | None:
        """Number a discussion again by (posted, slug). Raises ConversionFailed."""
        discussion = self.discussion(target)
        return self.convert(target, discussion.layout, discussion.order, renumber=True)

    def promote(self, target: Target, layout: str) -> bool:
        """Convert a discussion that has outgrown its layout to `layout`, unless it is "". Return whether it succeeded.

        If it fails, the next writer tries again. The comment is already written.
        """
        try:
            if layout:
                self.convert(target, layout, self.discussion(target).order, patience=PROMOTION_PATIENCE)
        except (CommentError, PyMongoError) as error:
            logger.info("%s was not promoted: %s", target, error)
            return False
        return True
