"""Conversions that an administrator asks for: short ones at once, long ones by a worker, which says how far it is."""

from marginalia.comments import conf
from marginalia.comments.backends import layout_classes
from marginalia.comments.errors import ConversionFailed
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Order, Target
from marginalia.mongo import jobs
from marginalia.mongo.jobs import Job

CONVERT = "comments.convert"
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
    jobs.put(CONVERT, plan, key=key, alias=conf.database_alias())
    return False


@jobs.regularly
def tidy() -> None:
    """Have a worker put right each minute what crashes leave behind, and drop what conversions leave."""
    maintenance.tidy()


@jobs.handler(CONVERT)
def work(job: Job) -> None:
    """Do a conversion that was put off; another that is under way goes first."""
    target = Target.parse(job.payload["discussion"])
    layout = job.payload["layout"]
    order = Order(job.payload["order"])

    def keep(copied: int) -> None:
        jobs.keep(job)

    try:
        maintenance.convert(target, layout, order, progress=keep)
    except ConversionFailed as error:
        raise jobs.Postponed(str(error)) from error
