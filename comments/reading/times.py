"""Times as readers see them: the exact time in the reader's time zone, and how long ago it was.

Because a page contains about 100 dates and times, the formatted values are cached, with a precision of one minute.
"""

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from marginalia.mongo.clock import now

MINUTE = 60
HOUR = 60 * 60
DAY = 24 * 60 * 60


class Clock:
    """A formatter of times in the current reader's language and time zone.

    A page uses one clock for all its comments, so the language and the time zone are determined only once.
    """

    def __init__(self) -> None:
        zone = timezone.get_current_timezone()
        self._zone = zone.key if isinstance(zone, ZoneInfo) else str(zone)
        self._language = get_language() or ""
        self._now = now()

    def exact(self, moment: datetime) -> str:
        """Return the date and time, to the minute."""
        return _exact(moment.replace(second=0, microsecond=0), self._zone, self._language)

    def day(self, moment: datetime) -> str:
        """Return the date."""
        return _day(moment.replace(second=0, microsecond=0), self._zone, self._language)

    def ago(self, moment: datetime) -> str:
        """Return how long ago `moment` was, in words and only in the largest unit, such as "3 hours ago"."""
        return _ago(max(0, int((self._now - moment).total_seconds())) // MINUTE, self._language)


@lru_cache(maxsize=10_000)
def _exact(moment: datetime, zone: str, language: str) -> str:
    return date_format(timezone.localtime(moment), "DATETIME_FORMAT")


@lru_cache(maxsize=10_000)
def _day(moment: datetime, zone: str, language: str) -> str:
    return date_format(timezone.localtime(moment), "DATE_FORMAT")


@lru_cache(maxsize=10_000)
def _ago(minutes: int, language: str) -> str:
    seconds = minutes * MINUTE
    if seconds < MINUTE:
        return _("just now")
    if seconds < HOUR:
        return ngettext("%(n)d minute ago", "%(n)d minutes ago", minutes) % {"n": minutes}
    if seconds < DAY:
        n = seconds // HOUR
        return ngettext("%(n)d hour ago", "%(n)d hours ago", n) % {"n": n}
    days = seconds // DAY
    if days < 31:
        return ngettext("%(n)d day ago", "%(n)d days ago", days) % {"n": days}
    if days < 365:
        n = days // 30
        return ngettext("%(n)d month ago", "%(n)d months ago", n) % {"n": n}
    n = days // 365
    return ngettext("%(n)d year ago", "%(n)d years ago", n) % {"n": n}
