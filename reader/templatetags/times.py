"""{% load times %}: format times for HTML attributes and for editors."""

from datetime import UTC, datetime, timedelta

from django import template

from marginalia.mongo.clock import now
from nodes import times

register = template.Library()


@register.filter(expects_localtime=True)
def iso(moment: datetime | None) -> str:
    """{{ moment|iso }}: return the time to the second, with its offset, for HTML datetime attributes. None becomes "".

    HTML doesn't accept offsets that contain seconds. Such offsets were common before the introduction of standard time.
    A time with such an offset is converted to UTC.
    """
    if moment is None:
        return ""
    if (moment.utcoffset() or timedelta()) % timedelta(minutes=1):
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="seconds")


@register.filter
def ago(moment: datetime) -> str:
    """{{ moment|ago }}: return "5 minutes ago" or, within the first minute, "just now"."""
    return times.ago(moment, now())


@register.filter
def time_of_day(moment: datetime) -> str:
    """{{ moment|time_of_day }}: return the time without the date."""
    return times.time(moment)


@register.filter
def point(moment: datetime | None) -> str:
    """{{ moment|point }}: return the date and time, with the year if it isn't the current year. None becomes ""."""
    return times.point(moment, now()) if moment else ""
