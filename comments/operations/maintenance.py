"""What operators do to discussions as a whole: converting, auditing and repairing them, while they are in use."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from comments import conf, targets
from comments.backends import backend, layout_classes
from comments.backends.base import Converted, Fault
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
    if discussion_id:
        found = backend().discussion(Target.parse(discussion_id))
        if not found.begun:
            raise TargetNotFound(f"There is no discussion {discussion_id}.")
        yield found
    else:
        yield from backend().walk(label)


def needs_converting(found: Discussion, schema: str, order: Order | None) -> bool:
    """Return whether a discussion is not in this schema and order yet, or a move of it was begun that may have to be ended."""
    return bool(found.moving) or found.schema != schema or (order is not None and found.order is not conf.native(order))


def convert(
    target: Target, schema: str, order: Order | None = None, *, progress: Callable[[int], None] = lambda copied: None
) -> Converted | None:
    """Convert a discussion, in its present order if none is given; None if it is so already. Raises
    ConversionFailed."""
    native = conf.native(order) if order else backend().discussion(target).order
    if layout_classes()[schema].in_target:
        _check_that_it_can_embed(target)
    return backend().convert(target, schema, native, progress=progress)


def _check_that_it_can_embed(target: Target) -> None:
    if target.label not in conf.get("TARGETS") or not conf.may_embed(target.label):
        raise ConversionFailed(f"COMMENTS['TARGETS'] does not say that {target.label} may hold its comments.")
    targets.key_of(target)


def drop_old_copies(target: Target) -> int:
    """Delete the old copies of a discussion whose time has come; return how many are still kept for slow readers."""
    return backend().drop_old_copies(target)


def examine(found: Discussion, *, fix: bool = False) -> Examined:
    """Audit a discussion's stored documents; with `fix` mend what a crash may have left behind."""
    if fix:
        backend().drop_old_copies(found.target)
    faults = backend().audit(found.target)
    mended = backend().mend(found.target, faults) if fix and faults else 0
    return Examined(found, tuple(faults), mended)


def faults(target: Target) -> list[Fault]:
    """Return what is wrong with a stored discussion."""
    return backend().audit(target)


def tidy() -> int:
    """Do what a worker does each minute; return how much there was to do."""
    return backend().tidy()


def sweep_erasures() -> int:
    """Look again for what is to be erased, as the worker does each minute; return how many erasures are not over."""
    return backend().sweep_erasures()
