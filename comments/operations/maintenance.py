"""What operators do to discussions as a whole: converting, auditing and repairing them, while they are in use."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from marginalia.comments import conf, targets
from marginalia.comments.backends import backend, layout_classes, may_embed
from marginalia.comments.errors import ConversionFailed, DiscussionDamaged, TargetNotFound
from marginalia.comments.types import Discussion, Fault, Order, Target
from marginalia.mongo.reading import MALFORMED


@dataclass(frozen=True)
class Examined:
    """What an audit found in a discussion of so many comments, and how many of its faults were mended."""

    comments: int
    faults: tuple[Fault, ...]
    mended: int


def wanted(*, label: str = "", discussion: str = "") -> Iterator[Target]:
    """Yield whose discussions to work on: one's, as "app.model:pk", those of a label, or all. Raises TargetNotFound if there is
    no such one."""
    if not discussion:
        yield from backend().targets(label=label)
        return
    target = Target.parse(discussion)
    with suppress(DiscussionDamaged):
        if not backend().discussion(target).begun:
            raise TargetNotFound(f"There is no discussion {discussion}.")
    yield target


def discussion(target: Target) -> Discussion:
    """Return a discussion as it is stored. Raises DiscussionDamaged."""
    return backend().discussion(target)


def needs_converting(found: Discussion, layout: str, order: Order | None) -> bool:
    """Return whether a discussion is not in this layout and order yet, or a move of it was begun that may have to be ended."""
    return bool(found.moving) or found.layout != layout or (order is not None and found.order is not order.native)


def convert(
    target: Target, layout: str, order: Order | None = None, *, progress: Callable[[int], None] = lambda copied: None
) -> int | None:
    """Convert a discussion, in its present order if none is given; return how many comments were copied, None if it is so
    already. Raises ConversionFailed."""
    native = order.native if order else backend().discussion(target).order
    if layout_classes()[layout].in_target:
        _check_that_it_can_embed(target)
    return backend().convert(target, layout, native, progress=progress)


def _check_that_it_can_embed(target: Target) -> None:
    if target.label not in conf.get("TARGETS") or not may_embed(target.label):
        raise ConversionFailed(f"COMMENTS['TARGETS'] does not say that {target.label} may hold its comments.")
    targets.key_of(target)


def drop_old_copies(target: Target) -> int:
    """Delete the old copies of a discussion whose time has come; return how many are still kept for slow readers."""
    return backend().drop_old_copies(target)


def examine(target: Target, *, fix: bool = False, accept_loss: bool = False) -> Examined:
    """Audit a discussion's stored documents; with `fix` mend what a crash may have left behind, with `accept_loss` also forget
    comments that are lost."""
    try:
        if fix:
            backend().drop_old_copies(target)
        found = backend().audit(target)
        mended = 0
        if fix and found:
            with suppress(ConversionFailed):  # another process converts it: it is left for the next time
                mended = backend().mend(target, found, accept_loss=accept_loss)
        return Examined(discussion(target).count, tuple(found), mended)
    except MALFORMED as error:
        said = str(error) if isinstance(error, DiscussionDamaged) else f"{target}: {type(error).__name__}: {error}"
        reason = said.removeprefix(f"{target}: ")
        return Examined(0, (Fault(str(target), "damaged", reason, mendable=False),), 0)


def faults(target: Target) -> tuple[Fault, ...]:
    """Return what is wrong with a stored discussion."""
    return examine(target).faults


def tidy() -> int:
    """Do what a worker does each minute; return how much there was to do."""
    return backend().tidy()


def sweep_erasures() -> int:
    """Look again for what is to be erased, as the worker does each minute; return how many erasures are not over."""
    return backend().sweep_erasures()
