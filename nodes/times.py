"""Format times for editors in the site's time zone ("June 1, 9:00 AM", "10:42 AM"), and check the allowed range."""

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.utils import formats, timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

# The range of years in which every datetime is valid in every time zone.
FIRST_YEAR, LAST_YEAR = 1000, 9998


def check_year(moment: datetime) -> None:
    """Raise ValidationError if the site can't show `moment` in every time zone."""
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        years = {"first": FIRST_YEAR, "last": LAST_YEAR}
        raise ValidationError(_("Choose a year from %(first)d to %(last)d."), params=years)


def day(when: datetime, moment: datetime) -> str:
    """Return the date of `when`. Omit the year if `moment` is in the same year."""
    local = timezone.localtime(when)
    today = timezone.localtime(moment)
    return formats.date_format(local, "MONTH_DAY_FORMAT" if local.year == today.year else "DATE_FORMAT")


def time(when: datetime) -> str:
    """Return the time of day of `when`."""
    return formats.date_format(timezone.localtime(when), "TIME_FORMAT")


def point(when: datetime, moment: datetime) -> str:
    """Return the date of `when`, formatted as in `day`, and the time of day."""
    return _("%(day)s, %(time)s") % {"day": day(when, moment), "time": time(when)}


def ago(when: datetime, moment: datetime) -> str:
    """Return how long ago `when` was at `moment`, such as "5 minutes ago" or "just now"."""
    if moment - when < timedelta(minutes=1):
        return _("just now")
    return _("%(ago)s ago") % {"ago": timesince(when, moment)}
