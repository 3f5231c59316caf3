"""{% load times %}: points in time, for programs that read a page and for editors."""

from datetime import UTC, datetime, timedelta

from django import template

from marginalia.mongo.clock import now
from nodes import times

register = template.Library()


@register.filter(expects_localtime=True)
def iso(moment: datetime | None) -> str:
    """{{ moment|iso }}: with its offset and to the second, as HTML wants it: no stored moment is finer than a reader's.

    Before standard time, offsets had seconds, which HTML doesn't accept: such a moment is in UTC.
    """
    if moment is None:
        return ""
    if (moment.utcoffset() or timedelta()) % timedelta(minutes=1):
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="seconds")


@register.filter
def ago(moment: datetime) -> str:
    """{{ moment|ago }}: "5 minutes ago"; "just now" within the first minute."""
    return times.ago(moment, now())


@register.filter
def point(moment: datetime | None) -> str:
    """{{ moment|point }}: a day and a time, without the year if it is this one."""
    return times.point(moment, now()) if moment else ""
