"""Conversions that an administrator asks for: short ones at once, long ones by a worker, which says how far it is."""

from marginalia.comments import conf
from marginalia.comments.backends import layout_classes
from marginalia.comments.errors import ConversionFailed
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Order, Target
from marginalia.tasks import Postponed, task, worker

# Comments that are converted while the administrator waits: a second or two.
AT_ONCE = 5_000


def convert(target: Target, layout: str, order: Order) -> bool | None:
    """Convert a discussion, or have it converted if it is long: True if it is done, False if a worker does it, None if it is so
    already. Raises ConversionFailed."""
    found = maintenance.discussion(next(maintenance.wanted(discussion=str(target))))
    if not maintenance.needs_converting(found, layout, order):
        return None
    # What cannot be is told at once.
    if found.last_number <= AT_ONCE or layout_classes()[layout].in_target:
        return maintenance.convert(target, layout, order) is not None or None
    plan = {"discussion": str(target), "layout": layout, "order": order.value}
    key = f"convert:{target}:{found.epoch}:{layout}:{order.value}"
    work.using(key=key, backend=conf.get("TASKS")).enqueue(**plan)
    return False


@worker.regularly
def tidy() -> None:
    """Have a worker put right each minute what crashes leave behind, and drop what conversions leave."""
    maintenance.tidy()


@task(stored_as="comments.convert")
def work(discussion: str, layout: str, order: str) -> None:
    """Do a conversion that was put off; another that is under way goes first."""
    try:
        maintenance.convert(Target.parse(discussion), layout, Order(order))
    except ConversionFailed as error:
        raise Postponed(str(error)) from error
