"""The store that all parts of the MongoDB backend share, and the base class of these parts."""

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

# Maximum number of seconds for which a writer waits for other writers when it converts a discussion that has outgrown
# its layout.
PROMOTION_PATIENCE = 2.0
logger = logging.getLogger(__name__)


class Store:
    """The database that contains the comments, and its collections and layouts."""

    def __init__(self, db: Database[Document] | None = None) -> None:
        self.db = database(conf.database_alias()) if db is None else db
        self.discussions = Discussions(self.db, storage_of)
        self.layouts = Layouts(self.db)
        self.pending = self.db["comments.pending"]
        self.history = self.db["comments.history"]
        self.erasures = self.db["comments.erasures"]

    def find_comment(self, target: Target, slug: str) -> Document | None:
        """Return the comment with `slug` from the current copy of the discussion, or None if it does not exist."""
        epoch = None
        while (discussion := self.discussions.find(target)) and discussion["epoch"] != epoch:
            if (
                document := self.layouts.of(read_place(discussion))
                .look(read_place(discussion), [slug])
                .comments.get(slug)
            ):
                return document
            # The comment does not exist, or the copy was replaced.
            epoch = discussion["epoch"]
        return None

    def was_written_under(self, claim: Claim, stored: Mapping[str, Any]) -> bool:
        """Return whether `claim` was used to write a stored comment.

        A post is identified by its number, which no other post gets. An approval or a change is identified by its
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
    """Base class for the parts of the MongoDB backend. Each part implements some methods of the contract."""

    store: Store

    def renumber(self, target: Target) -> int | None:
        """Renumber the comments of a discussion by (posted, slug).

        Raises:
            ConversionFailed: The conversion to the new numbers failed.
        """
        discussion = self.discussion(target)
        return self.convert(target, discussion.layout, discussion.order, renumber=True)

    def promote(self, target: Target, layout: str) -> bool:
        """Convert a discussion that has outgrown its layout to `layout`. Do nothing if `layout` is "".

        Return False if the conversion failed, and otherwise True. After a failure, the written comment is still stored,
        and the next writer tries to convert the discussion again.
        """
        try:
            if layout:
                self.convert(target, layout, self.discussion(target).order, patience=PROMOTION_PATIENCE)
        except (CommentError, PyMongoError) as error:
            logger.info("%s was not promoted: %s", target, error)
            return False
        return True
