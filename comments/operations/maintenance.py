"""What operators do to discussions as a whole: converting, auditing and repairing them, while they are in use."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from comments import conf, targets
from comments.backends.attempt import Converted
from comments.backends.mongodb import MongoBackend
from comments.backends.repairing import Fault
from comments.errors import ConversionFailed, TargetNotFound
from comments.types import Discussion, Order, Target

__all__ = ["Converted", "Examined", "Fault", "convert", "drop_old_copies", "examine", "wanted"]


@dataclass(frozen=True)
class Examined:
    """What an audit found in a discussion, and how many of its faults were mended."""

    discussion: Discussion
    faults: tuple[Fault, ...]
    mended: int


def wanted(*, label: str = "", discussion_id: str = "") -> Iterator[Discussion]:
    """Yield the discussions to work on: one, those of a label, or all. Raises TargetNotFound if there is no such
    one."""
    backend = MongoBackend()
    if discussion_id:
        found = backend.discussion(Target.parse(discussion_id))
        if not found.begun:
            raise TargetNotFound(f"There is no discussion {discussion_id}.")
        yield found
    else:
        yield from backend.walk(label)


def needs_converting(found: Discussion, schema: str, order: Order | None) -> bool:
    """Return whether a discussion is not in this schema and order yet, or a move of it was begun that may have to be ended."""
    return bool(found.moving) or found.schema != schema or (order is not None and found.order is not conf.native(order))


def convert(
    target: Target, schema: str, order: Order | None = None, *, progress: Callable[[int], None] = lambda copied: None
) -> Converted | None:
    """Convert a discussion, in its present order if none is given; None if it is so already. Raises
    ConversionFailed."""
    backend = MongoBackend()
    native = conf.native(order) if order else backend.discussion(target).order
    if schema == "embedded":
        _check_that_it_can_embed(target)
    return backend.convert(target, schema, native, progress=progress)


def _check_that_it_can_embed(target: Target) -> None:
    if target.label not in conf.get("TARGETS") or not conf.may_embed(target.label):
        raise ConversionFailed(f"COMMENTS['TARGETS'] does not say that {target.label} may hold its comments.")
    targets.key_of(target)


def drop_old_copies(target: Target) -> int:
    """Delete the old copies of a discussion whose time has come; return how many are still kept for slow readers."""
    return MongoBackend().conversion.drop_leftovers(target)


def examine(found: Discussion, *, fix: bool = False) -> Examined:
    """Audit a discussion's stored documents; with `fix` mend what a crash may have left behind."""
    backend = MongoBackend()
    faults = backend.repairing.audit(found.target)
    mended = 0
    if fix and faults:
        mended = backend.repairing.mend(found.target, faults)
        if any(fault.kind == "leftovers" for fault in faults):
            mended += backend.conversion.drop_leftovers(found.target) == 0
        if any(fault.kind == "crowded" for fault in faults):
            backend.renumber(found.target)
            mended += 1
    return Examined(found, tuple(faults), mended)
