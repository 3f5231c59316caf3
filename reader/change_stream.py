"""Read MongoDB's change stream. The API lists changes, the worker purges CDNs, and the page cache listens."""

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pymongo.change_stream import ChangeStream
from pymongo.errors import OperationFailure

from marginalia.comments.backends import VERSIONS
from marginalia.mongo.connection import Document, database, time_limit
from nodes.collections import ASSET_FILES, NODES, SITE, TRASH
from nodes.selectors.falling_due import SHOWN_BY

DISCUSSIONS = VERSIONS[0]
_WATCHED = (NODES, ASSET_FILES, TRASH, SITE, DISCUSSIONS)
# Operations that remove or replace a collection. After one of them, earlier events no longer describe the collection's
# content.
ENDING_OPERATIONS = ("drop", "rename", "dropDatabase", "invalidate")
_UPDATED = {"$ifNull": ["$updateDescription.updatedFields", {}]}
_UPDATED_NONCE = {"$getField": {"field": {"$literal": "metadata.nonce"}, "input": _UPDATED}}
# The pipeline that filters the events. To keep events small, it excludes text.
PIPELINE: list[Document] = [
    {"$match": {"$or": [{"ns.coll": {"$in": list(_WATCHED)}}, {"operationType": {"$in": list(ENDING_OPERATIONS)}}]}},
    {
        "$project": {
            "operationType": 1,
            "ns.coll": 1,
            "documentKey._id": 1,
            "fields": {
                "$concatArrays": [
                    {"$map": {"input": {"$objectToArray": _UPDATED}, "in": "$$this.k"}},
                    {"$ifNull": ["$updateDescription.removedFields", []]},
                ]
            },
            "nonce": {"$ifNull": ["$fullDocument.metadata.nonce", _UPDATED_NONCE]},
            "metadata": {name: f"$fullDocument.metadata.{name}" for name in SHOWN_BY},
            "due": "$updateDescription.updatedFields.draft.due",
        }
    },
]
# The error codes that mean that the stream can't be resumed: InvalidResumeToken, ChangeStreamFatalError and
# ChangeStreamHistoryLost (src/mongo/base/error_codes.yml).
_CANNOT_RESUME = frozenset({260, 280, 286})
# Timeout in seconds for one read by `follow`, including the time that the server waits for events. A primary that is
# shutting down might not respond until it has shut down, and a primary that hangs never responds.
READ_TIMEOUT = 0.4
CLOSE_TIMEOUT = 0.1
# How long `read` waits for an event, in milliseconds. Existing events are returned without waiting.
_READ_AWAIT_MS = 1
# How long the page cache waits for an event, in milliseconds. It must be shorter than listener.STREAM_TIMEOUT.
_LISTEN_AWAIT_MS = 100


class HistoryLost(Exception):
    """The server no longer has every change since the given position, so some changes have been missed."""


@dataclass(frozen=True)
class Batch:
    """Changes that were read together, and the position after them, from which a later read can continue."""

    events: list[Document]
    position: Document


def read(position: Document | None, limit: int) -> Batch:
    """Return up to `limit` changes after the given position.

    Args:
        position: The position from an earlier Batch, or None for the current position.
        limit: The maximum number of changes.

    Raises:
        HistoryLost: The server no longer has all changes after the position.
        PyMongoError: The server failed.
    """
    events: list[Document] = []
    with _opened(position, _READ_AWAIT_MS, batch_size=limit) as stream:
        while len(events) < limit and (event := stream.try_next()) is not None:
            events.append(event)
        return Batch(events, _position(stream))


def follow(position: Document | None, stopping: threading.Event, batch_time: float) -> Generator[Batch, None, None]:
    """Yield the changes after `position` until `stopping` is set.

    Whenever the stream has been opened or reopened, the first batch is empty and contains only the position.

    Args:
        position: The position from an earlier Batch, or None for the current position.
        stopping: The event that stops the generator.
        batch_time: The maximum time in seconds to wait for the first change in a batch, and then for more changes.

    Raises:
        HistoryLost: The server no longer has all changes after the position.
        PyMongoError: The server failed.
    """
    is_alive = True
    while is_alive and not stopping.is_set():
        primary = database().client.primary
        with _opened(position, round(batch_time * 1_000)) as stream:
            yield Batch([], _position(stream))
            # If a primary steps down, the stream still reads from the same server. If this server then hangs, writes
            # continue on the new primary, but the stream gets no events. Therefore, the stream is reopened if the
            # primary changes.
            while stream.alive and not stopping.is_set() and database().client.primary in (None, primary):
                events = _read_events(stream, batch_time)
                yield Batch(events, _position(stream))
            position = _position(stream)
            is_alive = stream.alive


@contextmanager
def listening(heartbeats: str) -> Iterator[ChangeStream[Document]]:
    """Open the change stream at the current position. It also contains the heartbeats in the collection `heartbeats`.

    Raises:
        HistoryLost: The stream can't be resumed.
        PyMongoError: The server failed.
    """
    with _opened(None, _LISTEN_AWAIT_MS, pipeline=_with_heartbeats(heartbeats)) as stream:
        yield stream


def next_event(stream: ChangeStream[Document], timeout: float = READ_TIMEOUT) -> Document | None:
    """Return the next change, or None if there was none for a short time.

    Raises:
        PyMongoError: The server failed, or didn't answer within `timeout` seconds.
    """
    with time_limit(timeout):
        return stream.try_next()


def _with_heartbeats(collection: str) -> list[Document]:
    match, project = (dict(stage) for stage in PIPELINE)
    match["$match"] = {"$or": [*match["$match"]["$or"], {"ns.coll": collection}]}
    beat = {"$ifNull": ["$fullDocument.beat", "$updateDescription.updatedFields.beat"]}
    project["$project"] = {**project["$project"], "beat": beat}
    return [match, project]


@contextmanager
def _opened(
    position: Document | None,
    max_await_ms: int,
    batch_size: int | None = None,
    pipeline: list[Document] = PIPELINE,
) -> Iterator[ChangeStream[Document]]:
    """Open the change stream. When closing it, wait only briefly for the server, which may be shutting down."""
    try:
        stream = database().watch(pipeline, start_after=position, max_await_time_ms=max_await_ms, batch_size=batch_size)
        try:
            yield stream
        finally:
            with time_limit(CLOSE_TIMEOUT):
                stream.close()
    except OperationFailure as error:
        if error.code in _CANNOT_RESUME:
            raise HistoryLost(str(error)) from error
        raise


def _read_events(stream: ChangeStream[Document], batch_time: float) -> list[Document]:
    events: list[Document] = []
    until = time.monotonic() + batch_time
    while (event := next_event(stream)) is not None:
        events.append(event)
        if time.monotonic() > until:
            break
    return events


def _position(stream: ChangeStream[Document]) -> Document:
    position = stream.resume_token
    assert position is not None  # Every response from the server contains a resume token.
    return dict(position)
