"""Conversions requested in the admin. Short discussions are converted immediately, and long ones by a worker."""

from marginalia.comments import conf
from marginalia.comments.backends import layout_classes
from marginalia.comments.errors import ConversionFailed
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Order, Target
from marginalia.tasks import Postponed, task, worker

# A discussion with at most this many comments is converted during the request. This takes a second or two.
MAX_IMMEDIATE = 5_000


def convert(target: Target, layout: str, order: Order) -> bool | None:
    """Convert a discussion, or enqueue the conversion if the discussion is long.

    Returns:
        True if the discussion was converted, False if a worker will convert it, or None if the discussion already has
        this layout and order.

    Raises:
        ConversionFailed: The discussion can't be converted.
    """
    discussion = maintenance.discussion(next(maintenance.select_targets(discussion=str(target))))
    if not maintenance.needs_converting(discussion, layout, order):
        return None
    # Convert to the embedded layout immediately, even if the discussion is long, so that the administrator sees at once
    # if embedding isn't possible.
    if discussion.last_number <= MAX_IMMEDIATE or layout_classes()[layout].in_target:
        return maintenance.convert(target, layout, order) is not None or None
    plan = {"discussion": str(target), "layout": layout, "order": order.value}
    key = f"convert:{target}:{discussion.epoch}:{layout}:{order.value}"
    work.using(key=key, backend=conf.get("TASKS")).enqueue(**plan)
    return False


@worker.regularly
def tidy() -> None:
    """Repair inconsistencies after crashes, and delete old copies of discussions. A worker calls this every minute."""
    maintenance.tidy()


@task(stored_as="comments.convert")
def work(discussion: str, layout: str, order: str) -> None:
    """Run an enqueued conversion. If it fails, for example because another is in progress, try again later."""
    try:
        maintenance.convert(Target.parse(discussion), layout, Order(order))
    except ConversionFailed as error:
        raise Postponed(str(error)) from error
