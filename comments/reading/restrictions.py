"""Sentences for readers about the restrictions of a discussion (`types.Restrictions`)."""

from datetime import time

from django.utils.formats import date_format, time_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from marginalia.comments.types import Restrictions
from marginalia.mongo.clock import now


def sentences(restrictions: Restrictions) -> list[str]:
    """Return a sentence for each restriction that readers should know before they write."""
    every = (hours_sentence(restrictions), slow_sentence(restrictions), hold_sentence(restrictions))
    return [sentence for sentence in every if sentence]


def is_outside_hours(restrictions: Restrictions) -> bool:
    """Return whether the discussion accepts no comments at this time of day."""
    if restrictions.hours is None:
        return False
    begin, end = restrictions.hours
    moment = localtime(now())
    minute = 60 * moment.hour + moment.minute
    return not begin <= minute < end if begin <= end else end <= minute < begin


def hours_sentence(restrictions: Restrictions) -> str:
    """Return a sentence about the hours in which a discussion is open, or "" if it is always open."""
    if restrictions.hours is None:
        return ""
    begin, end = (time_format(time(*divmod(minute, 60)), "TIME_FORMAT") for minute in restrictions.hours)
    return _("You can write comments from %(begin)s to %(end)s each day.") % {"begin": begin, "end": end}


def slow_sentence(restrictions: Restrictions) -> str:
    """Return a sentence about the time that writers have to wait between two comments, or "" if there is none."""
    seconds = restrictions.slow_seconds
    if not seconds:
        return ""
    if seconds % 60:
        return ngettext(
            "You can write one comment per second.", "You can write one comment every %(n)d seconds.", seconds
        ) % {"n": seconds}
    return ngettext(
        "You can write one comment per minute.", "You can write one comment every %(n)d minutes.", seconds // 60
    ) % {"n": seconds // 60}


def hold_sentence(restrictions: Restrictions) -> str:
    """Return a sentence about the time until which every comment needs approval, or "" if that time is over."""
    if restrictions.hold_until is None or restrictions.hold_until <= now():
        return ""
    until = date_format(localtime(restrictions.hold_until), "DATETIME_FORMAT")
    return _("Until %(time)s, comments appear after a moderator has approved them.") % {"time": until}
