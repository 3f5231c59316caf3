"""The store that the parts of the MongoDB backend share, and the base class of these parts."""

import logging
from collections.abc import Mapping
from typing import Any

from pymongo.database import Database
from pymongo.errors import PyMongoError

from marginalia.comments import conf
from marginalia.comments.backends.base import Backend
from marginalia.comments.backends.catalogue import Catalogue
from marginalia.comments.backends.discussions import Claim, Discussions
from marginalia.comments.backends.layouts import Layouts, storage_of
from marginalia.comments.backends.stored import Document, read_place
from marginalia.comments.errors import CommentError
from marginalia.comments.types import Target
from marginalia.mongo.connection import database

# A writer converts a discussion that has outgrown its layout. This is the maximum number of seconds that it then waits
# for other writers.
PROMOTION_PATIENCE = 2.0
logger = logging.getLogger(__name__)


class Store:
    """The comments database, with its collections and the storage layouts."""

    def __init__(self, db: Database[Document] | None = None) -> None:
        self.db = database(conf.database_alias()) if db is None else db
        self.discussions = Discussions(self.db, storage_of)
        self.layouts = Layouts(self.db)
        self.pending = self.db["comments.pending"]
        self.history = self.db["comments.history"]
        self.erasures = self.db["comments.erasures"]
        self.batches = self.db["comments.batches"]
        self.catalogue = Catalogue(self.db)

    def find_comment(self, target: Target, slug: str) -> Document | None:
        """Return the comment `slug` from the current copy of the discussion, or None if there is no such comment."""
        epoch = None
        while (discussion := self.discussions.find(target)) and discussion["epoch"] != epoch:
            if (
                document := self.layouts.of(read_place(discussion))
                .look(read_place(discussion), [slug])
                .comments.get(slug)
            ):
                return document
            # Either the comment does not exist, or the copy has been replaced. If the copy has been replaced, read
            # again.
            epoch = discussion["epoch"]
        return None

    def was_written_under(self, claim: Claim, stored: Mapping[str, Any]) -> bool:
        """Return whether a stored comment was written with `claim`.

        If the claim is for a post, the comment must have the claim's number, which no other post gets. If it is for an
        approval or a change, the comment or its history must contain the claim's change id.
        """
        if claim.kind == "post":
            return bool(stored["number"] == claim.number)
        rev = claim.rev + 1
        if stored["rev"] == rev:
            return bool(stored["change"] == claim.change)
        entry = {"discussion_id": claim.place.target.id, "slug": claim.slug, "rev": rev, "change": claim.change}
        return self.history.find_one(entry, {"_id": 1}) is not None


class Part(Backend):
    """Base class for the parts of the MongoDB backend. Each part implements some of the methods of `Backend`."""

    store: Store

    def renumber(self, target: Target) -> int | None:
        """Renumber the comments of a discussion in the order of (posted, slug).

        Raises:
            ConversionFailed: The conversion to the new numbers failed.
        """
        discussion = self.discussion(target)
        return self.convert(target, discussion.layout, discussion.order, renumber=True)

    def promote(self, target: Target, layout: str) -> bool:
        """Convert a discussion that has outgrown its current layout to `layout`. Do nothing if `layout` is "".

        Return False if the conversion failed, and otherwise True. A failure doesn't affect comments that are already
        stored, and the next writer tries to convert the discussion again.
        """
        try:
            if layout:
                self.convert(target, layout, self.discussion(target).order, patience=PROMOTION_PATIENCE)
        except (CommentError, PyMongoError) as error:
            logger.info("%s was not promoted: %s", target, error)
            return False
        return True
