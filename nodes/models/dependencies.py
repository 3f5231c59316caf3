"""Record the dependencies of the current response.

Every response depends on the `site` and `lists` versions in the site document (nodes.models.stored_site). Code that
reads nodes or photos records its other dependencies with these functions:

- `on_lists` if every change to the data updates `lists`;
- `note_tags` for the tags of nodes;
- `note_texts` for other content of nodes that the page isn't about;
- `note_node` for the node that the page is about.

If a read isn't recorded, the response isn't cached.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from marginalia.mongo.engine import read_tracking
from marginalia.mongo.engine.recording import Recorder
from nodes.collections import ASSET_FILES, NODES
from nodes.models.stored_site import SLOTS, slots
from nodes.types import Expected

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Dependencies:
    """The dependencies that were recorded in a `recorded()` block.

    Attributes:
        texts: Whether any save could change the response.
        node: The node that the page is about, in the state in which it was read.
        tags: The tags of this node.
        slots: The slots for the tags of other nodes.
    """

    texts: bool = False
    node: Expected | None = None
    tags: tuple[str, ...] = ()
    slots: frozenset[str] = frozenset()

    @property
    def own(self) -> Expected | None:
        """The node whose nonce shows whether a cached response is valid, or None if any save could invalidate it."""
        return None if self.texts else self.node


_recorder = Recorder("dependencies", Dependencies)
recorded = _recorder.recorded


def on_lists(select: Callable[P, T]) -> Callable[P, T]:
    """Decorate a selector whose data is covered by the `lists` (or `site`) version.

    Every change to the data that `select` returns must update one of these versions.
    """
    return read_tracking.tracked_reads()(select)


def note_tags(tags: Iterable[str] | None = None) -> None:
    """Record that the response depends on the node tags in `tags`, or on all tags if `tags` is None."""
    if (dependencies := _recorder.current) is not None:
        dependencies.slots = SLOTS if tags is None else dependencies.slots | slots(tags)


def note_slots(slots: frozenset[str]) -> None:
    """Record the tag slots on which a cached result depends."""
    if (dependencies := _recorder.current) is not None:
        dependencies.slots |= slots


def note_texts() -> None:
    """Record that the response shows another node's text or last change, so any save could change the response."""
    if (dependencies := _recorder.current) is not None:
        dependencies.texts = True


def record_orm_reads() -> None:
    """Record the ORM's reads of nodes and photos in the rest of the response. Any save could change their result."""

    def record() -> None:
        note_texts()
        note_tags()

    read_tracking.record_orm_reads((NODES, ASSET_FILES), record)


def note_node(stored: Mapping[str, Any]) -> None:
    """Record that a stored node was read with all its fields.

    Only one node is recorded per response. If a second node is read, the response is assumed to depend on all nodes, so
    any save invalidates it.
    """
    if (dependencies := _recorder.current) is None:
        return
    seen = Expected.of(stored)
    if dependencies.node is None:
        dependencies.node = seen
        dependencies.tags = tuple(stored["metadata"].get("tags") or ())
    elif dependencies.node != seen:
        dependencies.texts = True
