"""Doctor checks for interrupted writes and conversions, the mail server, missing discussions and wrong counts."""

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

# The count check reads at most this many discussions in full, and only discussions with at most this many comments.
MAX_AUDITED_DISCUSSIONS = 100
MAX_AUDITED_COMMENTS = 2_000
# Maximum number of discussions listed in one message.
MAX_LISTED = 3
# A claim or a conversion is considered interrupted if it hasn't made progress for this long.
OVERDUE = timedelta(minutes=10)
DAMAGE, LOST = "comments-damaged", "comments-lost"
# The names of findings, keyed by the kind of fault. Faults of other kinds are reported by other checks, or are repaired
# automatically.
_FAULTS = {
    "count": "counter-drift",
    "numbers": "counter-drift",
    "likes": "counter-drift",
    "form": DAMAGE,
    "comment": DAMAGE,
    "damaged": DAMAGE,
    "copies": "copies-left",
    "catalogue": "catalogue-lag",
    "lost": LOST,
}


@check
def stale_claims(examination: Examination) -> Iterator[Finding]:
    """Report claims whose writers never finished, and conversions whose process died."""
    if examination.alias != conf.database_alias():
        return
    due = now() - OVERDUE
    for target in backend().claimed_before(due, MAX_LISTED):
        message = f"{target} has interrupted writes."
        yield Finding(WARNING, "stale-claim", "discussions", message, "Run manage.py check_comments --fix.")
    for discussion in backend().moving_before(due, MAX_LISTED):
        message = f"The conversion of {discussion.target} to {discussion.moving} was interrupted."
        fix = f"Run manage.py convert_comments --discussion {discussion.target} --to {discussion.moving}."
        yield Finding(WARNING, "stale-lease", "discussions", message, fix)


@check
def mail_server(examination: Examination) -> Iterator[Finding]:
    """Report if the mail server can't be reached or rejects the login. No email is sent."""
    if not examination.production or examination.alias != conf.database_alias():
        return
    try:
        with get_connection():
            pass
    except OSError as error:
        message = f"The email server can't be reached: {type(error).__name__}: {error}."
        fix = "Fix the email settings, then run manage.py sendtestemail ADDRESS to send a test email."
        yield Finding(ERROR, "mail-server", "EMAIL_HOST", message, fix)


@check
def discussions_gone(examination: Examination) -> Iterator[Finding]:
    """Report comments whose discussion document is missing. Readers can't see these comments."""
    if examination.alias != conf.database_alias():
        return
    for name, ids in backend().without_discussion(examination.sample).items():
        message = f"The discussions of {len(ids)} objects no longer exist, but their comments do: "
        fix = "Restore the discussions from a backup. If an object was deleted on purpose, delete it again."
        yield Finding(ERROR, "discussion-gone", name, message + ", ".join(ids[:MAX_LISTED]) + ".", fix)


@check
def counters(examination: Examination) -> Iterator[Finding]:
    """Report discussions with wrong counts.

    Only a sample of short discussions is checked, because each discussion is read in full.
    """
    if examination.alias != conf.database_alias():
        return
    for target in backend().sample(MAX_AUDITED_DISCUSSIONS, longest=MAX_AUDITED_COMMENTS):
        for fault in maintenance.faults(target):
            if name := _FAULTS.get(fault.kind):
                fix = "Run manage.py check_comments, and restore the comments from a backup."
                if fault.repairable:
                    fix = "Run manage.py check_comments --fix."
                level = ERROR if name == LOST else WARNING
                yield Finding(level, name, "discussions", f"{fault.discussion}: {fault.description}.", fix)
