"""Dependencies of the current response, in addition to the site's versions `site` and `lists`.

Every response depends on these two versions (nodes.models.stored_site). Code that reads nodes or photos records its
dependencies here:

- `on_lists` if every change of the data renews `lists`;
- `note_tags` for tags of nodes;
- `note_texts` for other content of other nodes;
- `note_node` for the node that a page is about.

If a read isn't recorded, the response isn't cached.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from marginalia.mongo.engine import read_tracking
from marginalia.mongo.engine.recording import Recorder
from nodes.models.stored_site import SLOTS, slots
from nodes.types import Expected

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Dependencies:
    """Dependencies recorded in a `recorded()` block.

    Attributes:
        texts: Whether every save may change the response.
        node: The state of the node that the page is about, when it was read.
        tags: The tags of that node.
        slots: The slots for tags of other nodes.
    """

    texts: bool = False
    node: Expected | None = None
    tags: tuple[str, ...] = ()
    slots: frozenset[str] = frozenset()

    @property
    def own(self) -> Expected | None:
        """The node whose nonce the cached response is compared with, or None if every save may change the response."""
        return None if self.texts else self.node


_recorder = Recorder("dependencies", Dependencies)
recorded = _recorder.recorded


def on_lists(select: Callable[P, T]) -> Callable[P, T]:
    """Record that all data that `select` returns changes the site's version `lists` (or `site`).

    Use it as a decorator.
    """
    return read_tracking.tracked_reads()(select)


def note_tags(tags: Iterable[str] | None = None) -> None:
    """Record that nodes were read by `tags`, and that only these of their tags are shown. None means any tags."""
    if (dependencies := _recorder.current) is not None:
        dependencies.slots = SLOTS if tags is None else dependencies.slots | slots(tags)


def note_slots(slots: frozenset[str]) -> None:
    """Record the slots of tags on which a cached result depends."""
    if (dependencies := _recorder.current) is not None:
        dependencies.slots |= slots


def note_texts() -> None:
    """Record that the text or the last change of another node is shown, so any save may change the response."""
    if (dependencies := _recorder.current) is not None:
        dependencies.texts = True


def note_node(stored: Mapping[str, Any]) -> None:
    """Record that a stored node was read with all its fields.

    A response records only one node. If a second node is read, any save may change the response.
    """
    if (dependencies := _recorder.current) is None:
        return
    seen = Expected.of(stored)
    if dependencies.node is None:
        dependencies.node = seen
        dependencies.tags = tuple(stored["metadata"].get("tags") or ())
    elif dependencies.node != seen:
        dependencies.texts = True
