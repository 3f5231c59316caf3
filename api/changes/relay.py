"""What the worker does for the list of changes: it reads a majority change stream, and appends what it tells.

Several workers may do so at once: each goes on from the last entry, and one of them writes the next (api/changes/stored.py).
What becomes public or expires by time makes no event: it is looked for, and told once.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from pymongo.errors import OperationFailure

from api.changes import events, stored, visibility
from api.changes.stored import RESET, Entry, Last, Overtaken
from marginalia.mongo import jobs
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from nodes.models import tree
from nodes.selectors import falling_due
from nodes.services import site
from reader.change_stream import CANNOT_RESUME, PIPELINE

# Events that are read, and told, together.
BATCH = 500
# How long the stream waits for an event, in milliseconds: what was written before is read without waiting.
AWAIT = 1
# How long the end of the list says nothing of how far the relay has come.
MARKED = timedelta(seconds=15)
# What falls due is told this much later, so that all servers show it by then, whatever their clocks say, and no save that was
# under way is missed.
GRACE = timedelta(seconds=5)


@jobs.frequently
def relay(moment: datetime | None = None) -> int:
    """Append what has changed since the last entry; return how many entries. `moment`: the present.

    Raises PyMongoError, as where the server is a standalone, which has no change streams.
    """
    given = moment
    moment = moment or now()
    appended = 0
    with suppress(Overtaken):
        last = _begun(moment)
        start = last.resume
        is_more = True
        while is_more:
            try:
                found, resume = _read(start)
            except OperationFailure as error:
                if error.code not in CANNOT_RESUME:
                    raise
                # What is told from here on is no longer all: who follows begins anew.
                stored.append(last, [_reset("lost", last.number, None, last.until)])
                last = _begun(moment)
                start = last.resume
                continue
            start = resume
            is_more = len(found) == BATCH
            if told := visibility.entries(events.changes(found), last.until, given or now()):
                if events.ends_unversioned(found):
                    # Its writer is about to do so, or has died. Who reads what is told must not get what was kept before.
                    site.invalidate()
                last = stored.append(last, told)
                appended += len(told)
        if due := _due(last, resume, moment):
            stored.append(last, due)
            appended += len(due)
        elif moment - last.marked > MARKED:
            stored.mark(last, resume, max(last.until, moment - GRACE))
    return appended


def _begun(moment: datetime) -> Last:
    """Return the end of a list that goes on; where it has not begun, or its history is lost, of one that begins.

    That takes two entries. The first, without a token, keeps off a relay that goes on from the entry before. The second has the
    time of the first as its number: above all numbers that were ever given out, also by a database that was restored since.
    """
    last = stored.last() or stored.append(None, [_reset("first", 0, None, moment - GRACE)])
    if last.resume is None:
        _found, token = _read(None)
        again = _reset("begun", last.number, token, last.until)
        last = stored.append(last, [again], number=round(last.at.timestamp() * 1000))
    return last


def _reset(why: str, number: int, resume: Document | None, until: datetime) -> Entry:
    return Entry(f"{why}:{number}", RESET, "", None, True, resume, until)


def _read(resume: Document | None) -> tuple[list[Document], Document]:
    """Return the events after a token (from now on without one), BATCH at most, and the token to go on from."""
    found: list[Document] = []
    with database().watch(PIPELINE, start_after=resume, max_await_time_ms=AWAIT, batch_size=BATCH) as stream:
        while len(found) < BATCH and (event := stream.try_next()) is not None:
            found.append(event)
        token = stream.resume_token
    assert token is not None  # as every answer of the server has one
    return found, dict(token)


def _due(last: Last, resume: Document | None, moment: datetime) -> list[Entry]:
    """Return what fell due since, and is not told yet: a relay that died may have told a part of it."""
    until = moment - GRACE
    if until <= last.until:
        return []
    found = falling_due.changes_between(last.until, until)
    if not found:
        return []
    sections = tree.load()
    made = [visibility.due(one, sections, resume, last.until, moment) for one in found]
    known = stored.told([one.key for one in made])
    rest = [one for one in made if one.key not in known]
    # With the last of them all that was due is told.
    return [*rest[:-1], *(replace(one, until=until) for one in rest[-1:])]
