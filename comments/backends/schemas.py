"""Which schema does the work in a place."""

from pymongo.database import Database

from comments.backends.buckets import Pages
from comments.backends.documents import Documents
from comments.backends.embedded import Embedded
from comments.backends.leaves import Leaves
from comments.backends.schema import Schema
from comments.backends.stored import Document, Place
from comments.types import Order


class Schemas:
    """The schemas on one database."""

    def __init__(self, db: Database[Document]) -> None:
        self.documents, self.embedded = Documents(db), Embedded(db)
        self.pages, self.leaves = Pages(db), Leaves(db)
        # Each collection once: what is found by author, or cleared, does not depend on the layout of buckets.
        self.all: tuple[Schema, ...] = (self.documents, self.embedded, self.pages)

    def of(self, place: Place) -> Schema:
        """Return the schema, and of buckets the layout, in which a copy is kept."""
        if place.schema == "buckets":
            return self.leaves if place.order is Order.THREADED else self.pages
        return self.embedded if place.schema == "embedded" else self.documents
