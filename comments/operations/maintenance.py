"""Maintenance of discussions while they are in use: conversions, audits and repairs."""

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
    """The result of an audit: the number of comments, the faults, and the number of repairs."""

    comments: int
    faults: tuple[Fault, ...]
    repaired: int


def select_targets(*, label: str = "", discussion: str = "") -> Iterator[Target]:
    """Yield the targets of one discussion, of all discussions about objects of a model, or of all discussions.

    `discussion` selects a discussion as "app.model:pk", and `label` selects a model.

    Raises:
        TargetNotFound: `discussion` does not exist.
    """
    if not discussion:
        yield from backend().targets(label=label)
        return
    target = Target.parse(discussion)
    with suppress(DiscussionDamaged):
        if not backend().discussion(target).begun:
            raise TargetNotFound(f"The discussion {discussion} doesn't exist.")
    yield target


def discussion(target: Target) -> Discussion:
    """Return the discussion of a target.

    Raises:
        DiscussionDamaged: A field is missing or malformed.
    """
    return backend().discussion(target)


def needs_converting(discussion: Discussion, layout: str, order: Order | None) -> bool:
    """Return whether a discussion has to be converted to this layout and order.

    Also return True if a conversion is unfinished, because another call of `convert` may be needed to complete or end
    it.
    """
    return (
        bool(discussion.moving)
        or discussion.layout != layout
        or (order is not None and discussion.order is not order.native)
    )


def convert(
    target: Target, layout: str, order: Order | None = None, *, progress: Callable[[int], None] = lambda copied: None
) -> int | None:
    """Convert a discussion to another layout or order.

    Args:
        target: The target of the discussion.
        layout: The name of the new layout.
        order: The new order, or None to keep the current order.
        progress: A function that is called with the number of comments copied so far.

    Returns:
        The number of copied comments, or None if the discussion already has this layout and order.

    Raises:
        ConversionFailed: The discussion can't be converted.
    """
    native = order.native if order else backend().discussion(target).order
    if layout_classes()[layout].in_target:
        _check_embedding(target)
    return backend().convert(target, layout, native, progress=progress)


def _check_embedding(target: Target) -> None:
    if target.label not in conf.get("TARGETS") or not may_embed(target.label):
        raise ConversionFailed(f"COMMENTS['TARGETS'] doesn't allow {target.label} to embed its comments.")
    targets.parse_key(target)


def drop_old_copies(target: Target) -> int:
    """Delete a discussion's old copies that have been kept long enough. Return how many old copies are still kept."""
    return backend().drop_old_copies(target)


def examine(target: Target, *, fix: bool = False, accept_loss: bool = False) -> AuditResult:
    """Audit a stored discussion, and repair it if `fix` is true.

    Args:
        target: The target of the discussion.
        fix: Whether to repair faults that crashes may have caused.
        accept_loss: Whether to accept that comments have been lost. See `Backend.repair`.
    """
    try:
        if fix:
            backend().drop_old_copies(target)
        faults = backend().audit(target)
        repaired = 0
        if fix and faults:
            with suppress(ConversionFailed):  # it is being converted by another process, so repair it next time
                repaired = backend().repair(target, faults, accept_loss=accept_loss)
        return AuditResult(discussion(target).count, tuple(faults), repaired)
    except MALFORMED as error:
        message = str(error) if isinstance(error, DiscussionDamaged) else f"{target}: {type(error).__name__}: {error}"
        reason = message.removeprefix(f"{target}: ")
        return AuditResult(0, (Fault(str(target), "damaged", reason, repairable=False),), 0)


def faults(target: Target) -> tuple[Fault, ...]:
    """Return the faults in a stored discussion."""
    return examine(target).faults


def tidy() -> int:
    """Run the maintenance that a worker performs every minute. Return how many discussions needed it."""
    return backend().tidy()


def sweep_erasures() -> int:
    """Search again for comments by authors whose data was erased. A worker calls this every minute.

    Returns:
        The number of erasures that are not finished yet.
    """
    return backend().sweep_erasures()
