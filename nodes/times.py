"""Points in time as editors read them, in the site's zone: "June 1, 9 a.m.", "10:42 a.m."."""

from datetime import datetime, timedelta

from django.utils import formats, timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _


def day(when: datetime, moment: datetime) -> str:
    """Return a day, without the year if it is that of `moment`."""
    local = timezone.localtime(when)
    today = timezone.localtime(moment)
    return formats.date_format(local, "MONTH_DAY_FORMAT" if local.year == today.year else "DATE_FORMAT")


def time(when: datetime) -> str:
    """Return a time of the day."""
    return formats.date_format(timezone.localtime(when), "TIME_FORMAT")


def point(when: datetime, moment: datetime) -> str:
    """Return a day, as `day` does, and a time."""
    return _("%(day)s, %(time)s") % {"day": day(when, moment), "time": time(when)}


def ago(when: datetime, moment: datetime) -> str:
    """Return how long before `moment` something was: "5 minutes ago", "just now"."""
    if moment - when < timedelta(minutes=1):
        return _("just now")
    return _("%(ago)s ago") % {"ago": timesince(when, moment)}
