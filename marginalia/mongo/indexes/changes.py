"""A step of a plan: what separates a database from what the apps declare."""

from collections.abc import Callable
from dataclasses import dataclass

from pymongo.database import Database

from marginalia.mongo.connection import Document

COLLECTION = "collection"
Work = Callable[[Database[Document]], None]


def no_obstacles(db: Database[Document]) -> str:
    """Return "": most steps cannot fail for what is stored."""
    return ""


@dataclass(frozen=True)
class Change:
    """One step of a plan. `sign` is + (make), ~ (change) or - (drop, `optional`: only when told to).

    `obstacles` looks for stored documents that would make it fail, and names them; it may read the whole collection.
    """

    sign: str
    alias: str
    collection: str
    description: str
    apply: Work
    optional: bool = False
    obstacles: Callable[[Database[Document]], str] = no_obstacles

    @property
    def makes_collection(self) -> bool:
        """Whether the step creates the collection itself."""
        return (self.sign, self.description) == ("+", COLLECTION)

    def __str__(self) -> str:
        return f"{self.sign} {self.collection}: {self.description}"
