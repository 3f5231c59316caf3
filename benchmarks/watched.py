"""The site as it is, and what its workers do: WSGI application benchmarks.watched:application.

Each worker writes to a file of the folder WATCHED, every half second, how many pages it was asked for, answered from the cache,
and answered with their discussion made anew; with WATCHED_CLOSELY also its commands, and by samples in which part of the code
its requests are.
"""

import json
import os
import sys
import threading
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from pymongo import monitoring

COUNTS: Counter[str] = Counter(pages=0, kept=0, renewed=0, commands=0)
CLOSELY = bool(os.environ.get("WATCHED_CLOSELY"))
SAMPLE_SECONDS = 0.005
WRITTEN_EVERY = 100
# By a piece of a file's path, the innermost frame first: what of the code is at work.
PARTS = (
    ("/pymongo/", "MongoDB, and its driver"),
    ("/bson/", "MongoDB, and its driver"),
    ("/django/template/", "templates"),
    ("/comments/", "comments"),
    ("/markup/", "nodes"),
    ("/nodes/", "nodes"),
    ("/photos/", "nodes"),
    ("/reader/page_cache/", "page cache, middleware"),
    ("/reader/", "nodes"),
    ("/cms/", "page cache, middleware"),
    ("/django/", "Django beside templates"),
)
OUTSIDE = "others"
_QUIET = {"hello", "ismaster", "isMaster", "ping", "endSessions", "buildInfo"}


class Commands(monitoring.CommandListener):
    """Counts what is sent."""

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        COUNTS["commands"] += event.command_name not in _QUIET

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Only what is sent counts."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Only what is sent counts."""


if CLOSELY:
    # Of clients that are made from here on.
    monitoring.register(Commands())
_site = import_module("cms.wsgi").application
_counted = import_module("cms.requests.metrics.request_metrics")
_note = _counted.record
_NAMES = {"hit": "kept", "304": "kept", "renewed": "renewed"}
_watching = threading.Event()


def application(environ: dict[str, Any], start_response: Any) -> Any:
    """Answer as the site does, and count."""
    if not _watching.is_set():
        _watching.set()
        # In each worker: the site is loaded before they are made.
        threading.Thread(target=_watch, daemon=True).start()
    COUNTS["pages"] += 1
    return _site(environ, start_response)


def _noted(request: Any, response: Any, seconds: float) -> None:
    if name := _NAMES.get(getattr(request, "page_cache", "")):
        COUNTS[name] += 1
    _note(request, response, seconds)


_counted.record = _noted  # type: ignore[attr-defined]


def _watch() -> None:
    file = Path(os.environ["WATCHED"]) / f"{os.getpid()}.json"
    pause = threading.Event()
    turn = 0
    while not pause.wait(SAMPLE_SECONDS if CLOSELY else SAMPLE_SECONDS * WRITTEN_EVERY):
        turn += 1
        if CLOSELY:
            COUNTS.update(part for frame in sys._current_frames().values() if (part := _part(frame)))
        if not CLOSELY or turn % WRITTEN_EVERY == 0:
            draft = file.with_suffix(".draft")
            draft.write_text(json.dumps(dict(COUNTS)))
            draft.replace(file)


def _part(frame: FrameType | None) -> str:
    """Return which part of the code a thread is in; "" for one that answers no request."""
    files = []
    answers = False
    while frame is not None:
        files.append(frame.f_code.co_filename)
        answers = answers or frame.f_code is application.__code__
        frame = frame.f_back
    return next((part for file in files for piece, part in PARTS if piece in file), OUTSIDE) if answers else ""
