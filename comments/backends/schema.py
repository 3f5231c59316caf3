"""What each of the three schemas does: the primitive reads and writes out of which the protocols are made.

Every method works on one copy of one discussion, given as a Place: it reads and writes only what has that place's
epoch.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pymongo.database import Database

from comments import slugs
from comments.backends.stored import Document, Place
from comments.types import Order

# What is called now and then by what takes long, so that whoever waits for it can say that he is alive.
Pulse = Callable[[], object]


def no_pulse() -> None:
    """Nobody needs to know."""


@dataclass(frozen=True)
class Looked:
    """What a look found: comments by slug, and where: `hint` is understood by the schema that made it."""

    found: Mapping[str, Document]
    hint: Mapping[str, Any] = field(default_factory=dict)


class Schema(ABC):
    """One way to store a discussion."""

    name: str
    # Whether `put` by itself refuses a slug that is anywhere in the discussion, so that nobody need look first.
    guards_discussion = False

    def __init__(self, db: Database[Document]) -> None:
        self.db = db

    @abstractmethod
    def orders(self, place: Place) -> tuple[Order, ...]:
        """Return the orders that cost only what is read (of OLDEST and THREADED)."""

    @abstractmethod
    def look(self, place: Place, wanted: Sequence[str]) -> Looked:
        """Return the comments that have one of these slugs, in one command."""

    @abstractmethod
    def put(self, place: Place, document: Document, looked: Looked) -> Document | None:
        """Store a comment unless one has its slug; return that one, None if there was none.

        `looked` is from a look that followed the claim. Raises TargetNotFound where the comments are kept in the
        target and it is gone.
        """

    @abstractmethod
    def change(
        self, place: Place, slug: str, revs: Mapping[str, Any] | int, fields: Mapping[str, Any], looked: Looked
    ) -> bool:
        """Set `fields` of the comment if its `rev` matches `revs` (a number or a query); return whether it did."""

    @abstractmethod
    def by_number(self, place: Place, low: int, high: int) -> list[Document]:
        """Return the comments numbered low … high, in order."""

    @abstractmethod
    def nearest(self, place: Place, number: int, direction: int) -> int | None:
        """Return the lowest number above `number` that a comment has (direction 1), or the highest below (−1)."""

    @abstractmethod
    def by_path(self, place: Place, low: str, high: str, limit: int, *, backwards: bool = False) -> list[Document]:
        """Return up to `limit` comments with low < full_slug < high in order; `backwards`: the last ones, reversed."""

    def below(self, place: Place, top: Document, after: str, limit: int) -> list[Document]:
        """Return up to `limit` descendants of a stored comment whose full slug is above `after`, threaded."""
        low, high = slugs.descendants(top["full_slug"])
        return self.by_path(place, max(after, low), high, limit)

    def outgrown(self, place: Place, looked: Looked, *documents: Document) -> str:
        """Return the schema that the discussion had better be kept in once `documents` were put or changed, "" while it
        fits. `looked` is from before that."""
        return ""

    @abstractmethod
    def iterate(self, place: Place, order: Order, after: Any = None) -> Iterator[Document]:
        """Yield all comments in one of `orders`, a batch in memory at a time; `after` leaves out those with a lower
        number (or with this full slug or a lower one)."""

    @abstractmethod
    def newest(self, place: Place, limit: int) -> list[Document]:
        """Return the public comments among those numbered highest, the newest `posted` first, up to `limit`."""

    @abstractmethod
    def by_author(
        self,
        query: Mapping[str, str],
        *,
        limit: int = 0,
        before: datetime | None = None,
        among: Sequence[str] | None = None,
    ) -> Iterator[tuple[str, int, Document]]:
        """Yield (discussion id, epoch, comment) of every copy for {"id": …} or {"email": …}; newest first where
        `limit` is given, of the discussions with the ids `among` if they are given."""

    # For conversions and audits --------------------------------------------------------------------------------------

    @abstractmethod
    def copy(self, place: Place, documents: Sequence[Document]) -> None:
        """Store comments that come in the place's order, many at a time; those whose slug is there are passed over."""

    @abstractmethod
    def finish_copy(self, place: Place) -> None:
        """Make the place valid also if nothing was copied into it."""

    @abstractmethod
    def clear(self, place: Place, epochs: Mapping[str, Any], pulse: Pulse = no_pulse) -> int:
        """Delete the copies in this schema whose epoch matches a query such as {"$lte": 3}; return how many documents
        went. `pulse` is called now and then."""

    @abstractmethod
    def epochs(self, place: Place) -> set[int]:
        """Return the epochs of which this schema has copies."""

    @abstractmethod
    def faults(self, place: Place) -> Iterable[str]:
        """Yield what is wrong with the form of the copy (not with its comments), a sentence each."""


def pushes(document: Document, order: Mapping[str, int]) -> list[tuple[Document, Any]]:
    """Return the two ways to put a comment into a sorted array `comments`, as (condition on the array, what to $push).

    Mostly it comes after all others. Appended, it alone goes into the server's log, and to its other members; sorted in,
    the whole array does.
    """
    first = next(iter(order))
    above_all = {f"comments.{first}": {"$not": {"$gte": document[first]}}}
    return [(above_all, document), ({}, {"$each": [document], "$sort": dict(order)})]
