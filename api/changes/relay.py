"""The relay, which reads a change stream with majority read concern, and appends the changes to the list.

Several workers can run the relay at the same time. Each worker continues after the last entry, and only one of them can
append the next entry (see api/changes/change_log.py). MongoDB reports no event when a node becomes public or expires on
schedule. The relay searches for such nodes, and appends each scheduled change once.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from api.changes import change_log, events, visibility
from api.changes.change_log import RESET, Entry, LastEntry, Overtaken
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document
from marginalia.tasks import worker
from nodes.models import tree
from nodes.selectors import falling_due
from nodes.services import site
from reader import change_stream

# Maximum number of events to read and append at once.
BATCH = 500
# Minimum time between two updates of the relay's progress in the last entry.
MARK_INTERVAL = timedelta(seconds=15)
# Time to wait before a scheduled change is appended. After this time, all servers show the change even if their clocks
# differ, and all saves that were in progress have finished.
GRACE = timedelta(seconds=5)


@worker.frequently
def relay(moment: datetime | None = None) -> int:
    """Append all changes since the last entry.

    Args:
        moment: The current time. By default, it is read from the clock.

    Returns:
        The number of new entries.

    Raises:
        PyMongoError: The database can't be read, for example if the server is a standalone without change streams.
    """
    fixed_moment = moment
    moment = moment or now()
    appended = 0
    with suppress(Overtaken):
        last = _resume_or_start(moment)
        resume = last.resume
        has_more = True
        while has_more:
            try:
                batch = change_stream.read(resume, BATCH)
            except change_stream.HistoryLost:
                # Some changes are lost. Append an entry that tells clients to start again.
                change_log.append(last, [_reset_entry("lost", last.number, None, last.until)])
                last = _resume_or_start(moment)
                resume = last.resume
                continue
            resume = batch.position
            has_more = len(batch.events) == BATCH
            if entries := visibility.entries(events.parse_changes(batch.events), last.until, fixed_moment or now()):
                if events.lacks_site_version(batch.events):
                    # The process that saved the change is about to store a new version of the site, or has died.
                    # Store a new version now, because clients that receive the change must not get pages that were
                    # cached before the change.
                    site.invalidate()
                last = change_log.append(last, entries)
                appended += len(entries)
        if due_entries := _due_entries(last, batch.position, moment):
            change_log.append(last, due_entries)
            appended += len(due_entries)
        elif moment - last.marked > MARK_INTERVAL:
            change_log.mark(last, batch.position, max(last.until, moment - GRACE))
    return appended


def _resume_or_start(moment: datetime) -> LastEntry:
    """Return the last entry of the list. If the list can't be continued, start a new list.

    A new list begins with two entries. The first entry has no resume token. After it is stored, relays that have read
    only earlier entries can't append anything. The second entry contains the current position in the change stream. Its
    number is a time in milliseconds, which is higher than any number that clients have ever seen, even if the database
    was restored from a backup.
    """
    last = change_log.last() or change_log.append(None, [_reset_entry("first", 0, None, moment - GRACE)])
    if last.resume is None:
        position = change_stream.read(None, BATCH).position
        second = _reset_entry("begun", last.number, position, last.until)
        last = change_log.append(last, [second], number=round(last.at.timestamp() * 1000))
    return last


def _reset_entry(reason: str, number: int, resume: Document | None, until: datetime) -> Entry:
    return Entry(f"{reason}:{number}", RESET, "", None, True, resume, until)


def _due_entries(last: LastEntry, resume: Document | None, moment: datetime) -> list[Entry]:
    """Return entries for the scheduled changes that are due.

    If a relay died after appending some of these changes, the appended changes are skipped.
    """
    until = moment - GRACE
    if until <= last.until:
        return []
    due_documents = falling_due.changes_between(last.until, until)
    if not due_documents:
        return []
    sections = tree.load()
    entries = [visibility.due_entry(entry, sections, resume, last.until, moment) for entry in due_documents]
    existing = change_log.existing_keys([entry.key for entry in entries])
    missing = [entry for entry in entries if entry.key not in existing]
    # Set `until` only in the last entry, because the process may die after storing only some of the entries.
    return [*missing[:-1], *(replace(entry, until=until) for entry in missing[-1:])]
