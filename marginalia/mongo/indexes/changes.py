"""Steps of a plan, the differences between a database and the declarations of the apps."""

from collections.abc import Callable
from dataclasses import dataclass

from pymongo.database import Database

from marginalia.mongo.connection import Document

COLLECTION = "collection"
Work = Callable[[Database[Document]], None]


def no_obstacles(db: Database[Document]) -> str:
    """Return "", because stored documents can't make most steps fail."""
    return ""


@dataclass(frozen=True)
class Change:
    """A step of a plan. `sign` is + (create), ~ (change) or - (drop); `optional` steps are applied only on request.

    `obstacles` returns a message listing stored documents that would make the step fail. It may read the whole collection.
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
        """Return whether the step creates the collection itself."""
        return (self.sign, self.description) == ("+", COLLECTION)

    def __str__(self) -> str:
        return f"{self.sign} {self.collection}: {self.description}"
