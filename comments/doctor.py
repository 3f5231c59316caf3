"""What the doctor asks of comments: writers and converters that never came back, counts that are off."""

from collections.abc import Iterator
from datetime import timedelta

from django.core.mail import get_connection

from marginalia.comments import conf
from marginalia.comments.backends import backend
from marginalia.comments.collections.queries import BROADCASTS, HOT_QUERIES
from marginalia.comments.operations import maintenance
from marginalia.mongo.clock import now
from marginalia.mongo.doctor import ERROR, WARNING, Examination, Finding, check

__all__ = ["BROADCASTS", "HOT_QUERIES"]

# Discussions that are read whole, of at most so many comments each, in search of a count that is off.
AUDITED, LONGEST = 100, 2_000
NAMED = 3
# How long a claim or a conversion may be open before its process counts as dead.
OVERDUE = timedelta(minutes=10)
DAMAGE, LOST = "comments-damaged", "comments-lost"
# Kinds of Fault → names of findings; what is missing here has a finding of its own, or is being put right.
_FAULTS = {
    "count": "counter-drift",
    "numbers": "counter-drift",
    "form": DAMAGE,
    "comment": DAMAGE,
    "damaged": DAMAGE,
    "copies": "copies-left",
    "lost": LOST,
}


@check
def stale_claims(examination: Examination) -> Iterator[Finding]:
    """Writers that announced a comment and never came back, converters that died."""
    if examination.alias != conf.database_alias():
        return
    due = now() - OVERDUE
    for target in backend().claimed_before(due, NAMED):
        message = f"{target} has claims of writers that never came back."
        yield Finding(WARNING, "stale-claim", "discussions", message, "manage.py check_comments --fix")
    for found in backend().moving_before(due, NAMED):
        message = f"The conversion of {found.target} to {found.moving} has stopped."
        fix = f"manage.py convert_comments --discussion {found.target} --to {found.moving}"
        yield Finding(WARNING, "stale-lease", "discussions", message, fix)


@check
def mail_server(examination: Examination) -> Iterator[Finding]:
    """The mail server accepts a connection and the login. No mail is sent."""
    if not examination.production or examination.alias != conf.database_alias():
        return
    try:
        with get_connection():
            pass
    except OSError as error:
        message = f"The mail server doesn't accept a connection: {type(error).__name__}: {error}."
        fix = "Fix the mail settings, then send a test with manage.py sendtestemail ADDRESS."
        yield Finding(ERROR, "mail-server", "EMAIL_HOST", message, fix)


@check
def discussions_gone(examination: Examination) -> Iterator[Finding]:
    """Comments whose discussion's document is gone: readers no longer find them."""
    if examination.alias != conf.database_alias():
        return
    for name, ids in backend().without_discussion(examination.sample).items():
        message = f"The discussions of {len(ids)} targets are gone, and their comments are there: "
        fix = "Restore discussions from a backup, or what was deleted on purpose: run its deletion again."
        yield Finding(ERROR, "discussion-gone", name, message + ", ".join(ids[:NAMED]) + ".", fix)


@check
def counters(examination: Examination) -> Iterator[Finding]:
    """Discussions count what they have; a sample of those that can be read quickly is read whole."""
    if examination.alias != conf.database_alias():
        return
    for target in backend().sample(AUDITED, longest=LONGEST):
        for fault in maintenance.faults(target):
            if name := _FAULTS.get(fault.kind):
                fix = "manage.py check_comments" + (" --fix" if fault.mendable else ", and restore from a backup")
                level = ERROR if name == LOST else WARNING
                yield Finding(level, name, "discussions", f"{fault.discussion}: {fault.what}.", fix)
