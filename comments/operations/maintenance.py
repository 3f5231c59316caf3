"""Maintenance of whole discussions: converting, auditing and repairing them while they are in use."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from marginalia.comments import conf, targets
from marginalia.comments.backends import backend, layout_classes, may_embed
from marginalia.comments.errors import ConversionFailed, DiscussionDamaged, TargetNotFound
from marginalia.comments.types import Discussion, Fault, Order, Target
from marginalia.mongo.reading import MALFORMED


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit: the number of comments, the faults, and how many of them were repaired."""

    comments: int
    faults: tuple[Fault, ...]
    repaired: int


def select_targets(*, label: str = "", discussion: str = "") -> Iterator[Target]:
    """Yield the targets to work on: that of one discussion, "app.model:pk", those of a label, or all.

    Raises TargetNotFound if the discussion does not exist.
    """
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


def needs_converting(discussion: Discussion, layout: str, order: Order | None) -> bool:
    """Return whether a discussion has another layout or order.

    Also return True for an unfinished conversion, which may have to be ended.
    """
    return (
        bool(discussion.moving)
        or discussion.layout != layout
        or (order is not None and discussion.order is not order.native)
    )


def convert(
    target: Target, layout: str, order: Order | None = None, *, progress: Callable[[int], None] = lambda copied: None
) -> int | None:
    """Convert a discussion, in its present order if `order` is None.

    Return the number of copied comments, None if it already has this layout and order. Raises ConversionFailed.
    """
    native = order.native if order else backend().discussion(target).order
    if layout_classes()[layout].in_target:
        _check_embedding(target)
    return backend().convert(target, layout, native, progress=progress)


def _check_embedding(target: Target) -> None:
    if target.label not in conf.get("TARGETS") or not may_embed(target.label):
        raise ConversionFailed(f"COMMENTS['TARGETS'] does not say that {target.label} may hold its comments.")
    targets.parse_key(target)


def drop_old_copies(target: Target) -> int:
    """Delete the old copies of a discussion that are due. Return how many are still kept for slow readers."""
    return backend().drop_old_copies(target)


def examine(target: Target, *, fix: bool = False, accept_loss: bool = False) -> AuditResult:
    """Audit the stored documents of a discussion.

    With `fix`, repair what crashes may have left behind. With `accept_loss`, also accept that comments are lost.
    """
    try:
        if fix:
            backend().drop_old_copies(target)
        faults = backend().audit(target)
        repaired = 0
        if fix and faults:
            with suppress(ConversionFailed):  # another process converts it: repair it the next time
                repaired = backend().repair(target, faults, accept_loss=accept_loss)
        return AuditResult(discussion(target).count, tuple(faults), repaired)
    except MALFORMED as error:
        message = str(error) if isinstance(error, DiscussionDamaged) else f"{target}: {type(error).__name__}: {error}"
        reason = message.removeprefix(f"{target}: ")
        return AuditResult(0, (Fault(str(target), "damaged", reason, repairable=False),), 0)


def faults(target: Target) -> tuple[Fault, ...]:
    """Return the faults of a stored discussion."""
    return examine(target).faults


def tidy() -> int:
    """Do the worker's upkeep of each minute. Return how much there was to do."""
    return backend().tidy()


def sweep_erasures() -> int:
    """Search again for comments to be erased, as the worker does each minute.

    Return how many erasures are not finished.
    """
    return backend().sweep_erasures()
