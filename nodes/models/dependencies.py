"""What the answer in progress was made from, besides the site's `frame` and `lists`.

On these two every answer depends (nodes.models.stored_site).

What reads nodes or photos says so here: `on_lists` where no more is read than changes `lists`, note_tags where tags of nodes
are, note_texts for what else is shown of other nodes, note_node for the one that a page is about. What is read without a word
makes an answer that is not kept.
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
    """What was noted in a `recorded()` block. `texts`: whether every save may change it; `node`: as it was read, the node whose
    own saves do, and its tags; `slots`: those of the tags of other nodes."""

    texts: bool = False
    node: Expected | None = None
    tags: tuple[str, ...] = ()
    slots: frozenset[str] = frozenset()

    @property
    def own(self) -> Expected | None:
        """The node whose nonce it is compared with: none where every save may change it."""
        return None if self.texts else self.node


_recorder = Recorder("dependencies", Dependencies)
recorded = _recorder.recorded


def on_lists(select: Callable[P, T]) -> Callable[P, T]:
    """Note of a selector that what it returns changes with the site's `lists` (or `frame`) alone, at present."""

    return read_tracking.tracked_reads()(select)


def note_tags(tags: Iterable[str] | None = None) -> None:
    """Note that nodes were read by these tags, and no others of theirs are shown; by default, that any tag of them may be."""
    if (found := _recorder.current) is not None:
        found.slots = SLOTS if tags is None else found.slots | slots(tags)


def note_slots(slots: frozenset[str]) -> None:
    """Note the slots of tags that something depends on which was read before."""
    if (found := _recorder.current) is not None:
        found.slots |= slots


def note_texts() -> None:
    """Note that a text of another node is shown, or when it was last changed: what any save may change."""
    if (found := _recorder.current) is not None:
        found.texts = True


def note_node(stored: Mapping[str, Any]) -> None:
    """Note that a node was read with all its fields, as it is stored. An answer has one: of a second any save may change it."""
    if (found := _recorder.current) is None:
        return
    seen = Expected.of(stored)
    if found.node is None:
        found.node, found.tags = seen, tuple(stored["metadata"].get("tags") or ())
    elif found.node != seen:
        found.texts = True
