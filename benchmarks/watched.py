"""The site with counters for the work of its workers. The WSGI application is benchmarks.watched:application.

Every half second, each worker writes counts to a file in the WATCHED folder: pages, pages from the cache, and pages
whose discussion was rendered again. With WATCHED_CLOSELY, it also counts commands, and regularly records which part of
the code its requests are executing.
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
# Parts of the code, by a part of the file's path. The innermost matching frame of a thread determines the part.
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
    ("/django/", "Django without templates"),
)
OUTSIDE = "others"
_QUIET = {"hello", "ismaster", "isMaster", "ping", "endSessions", "buildInfo"}


class Commands(monitoring.CommandListener):
    """A listener that counts the commands that were sent."""

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        COUNTS["commands"] += event.command_name not in _QUIET

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Do nothing, because only sent commands are counted."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Do nothing, because only sent commands are counted."""


if CLOSELY:
    # This affects only clients that are created after this line.
    monitoring.register(Commands())
_site = import_module("cms.wsgi").application
_request_metrics = import_module("cms.requests.metrics.request_metrics")
_record = _request_metrics.record
_NAMES = {"hit": "kept", "304": "kept", "renewed": "renewed"}
_watching = threading.Event()


def application(environ: dict[str, Any], start_response: Any) -> Any:
    """Serve the site, and count pages."""
    if not _watching.is_set():
        _watching.set()
        # The first request starts the thread, because the site is loaded before workers are forked.
        threading.Thread(target=_watch, daemon=True).start()
    COUNTS["pages"] += 1
    return _site(environ, start_response)


def _record_and_count(request: Any, response: Any, seconds: float) -> None:
    if name := _NAMES.get(getattr(request, "page_cache", "")):
        COUNTS[name] += 1
    _record(request, response, seconds)


_request_metrics.record = _record_and_count  # type: ignore[attr-defined]


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
    """Return the part of the code that a thread is executing, or "" if the thread isn't handling a request."""
    files = []
    is_request = False
    while frame is not None:
        files.append(frame.f_code.co_filename)
        is_request = is_request or frame.f_code is application.__code__
        frame = frame.f_back
    return next((part for file in files for piece, part in PARTS if piece in file), OUTSIDE) if is_request else ""
