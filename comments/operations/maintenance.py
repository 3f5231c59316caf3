"""Maintenance of discussions in use: conversion, audits and repairs."""

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
    """Yield `discussion` ("app.model:pk"), the targets of the model `label`, or all targets with a discussion.

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
    """Return a discussion as it is stored.

    Raises:
        DiscussionDamaged: A field is missing or malformed.
    """
    return backend().discussion(target)


def needs_converting(discussion: Discussion, layout: str, order: Order | None) -> bool:
    """Return whether a discussion must be converted to get this layout and order.

    Also return True if a conversion is unfinished, because it might have to be completed or aborted.
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
    """Delete a discussion's old copies that have been kept long enough. Return the number of remaining copies."""
    return backend().drop_old_copies(target)


def examine(target: Target, *, fix: bool = False, accept_loss: bool = False) -> AuditResult:
    """Audit a stored discussion.

    Args:
        target: The target of the discussion.
        fix: Whether to repair faults that crashes may have caused.
        accept_loss: Whether to accept the loss of comments.
    """
    try:
        if fix:
            backend().drop_old_copies(target)
        faults = backend().audit(target)
        repaired = 0
        if fix and faults:
            with suppress(ConversionFailed):  # another process is converting the discussion, so repair it next time
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
    """Run the maintenance that a worker performs every minute. Return the number of discussions that needed it."""
    return backend().tidy()


def sweep_erasures() -> int:
    """Search again for comments by authors whose data was erased. A worker calls this every minute.

    Returns:
        The number of erasures that are not finished yet.
    """
    return backend().sweep_erasures()
