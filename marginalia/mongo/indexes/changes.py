"""The steps of an index plan. Each step is a difference between a database and the apps' declarations."""

from collections.abc import Callable
from dataclasses import dataclass

from pymongo.database import Database

from marginalia.mongo.connection import Document

COLLECTION = "collection"
Work = Callable[[Database[Document]], None]


def no_obstacles(db: Database[Document]) -> str:
    """Return "".

    This is the default for `Change.obstacles`, because stored documents can't cause most steps to fail.
    """
    return ""


@dataclass(frozen=True)
class Change:
    """A step of a plan.

    Attributes:
        sign: "+" to create, "~" to change, or "-" to drop something.
        alias: The alias of the connection.
        collection: The name of the collection.
        description: A description of the step.
        apply: The function that applies the step.
        obstacles: A function that returns a message listing the stored documents that would cause the step to fail, or
            "" if there are none. The function may read the whole collection.
        optional: Whether the step is applied only on request.
        before: The existing validator, if the step changes the validator.
        after: The declared validator, if the step changes the validator.
    """

    sign: str
    alias: str
    collection: str
    description: str
    apply: Work
    optional: bool = False
    obstacles: Callable[[Database[Document]], str] = no_obstacles
    before: Document | None = None
    after: Document | None = None

    @property
    def makes_collection(self) -> bool:
        """Whether the step creates the collection itself."""
        return (self.sign, self.description) == ("+", COLLECTION)

    def __str__(self) -> str:
        return f"{self.sign} {self.collection}: {self.description}"
