"""A race between writers and readers in their own processes: no reader may see less than what was acknowledged before.

`sound` runs the site as it is. Each other mode breaks one rule, to show that the race finds it: `bump-first` renews the
version before the change, `version-late` reads the version after the data.
"""

import multiprocessing
import os
import random
import re
import threading
import time
from typing import Any

WRITERS = READERS = 8
# Average pause of a writer in seconds. Without pauses, no page would ever be cached.
PACE = 1.2
# Maximum delay of a process after a database command, which widens every gap between two commands, in any mode.
HELD_UP = 0.08
# How often a reader requests one page in a row.
IN_A_ROW = 4
SHOWN, LISTED = re.compile(rb"written-(\d+)-"), re.compile(rb"Post (\d+) written-(\d+)-")


def race(seconds: float, mode: str, uri: str, database_name: str, posts: list[str]) -> dict[str, int]:
    """Run the race and return {"read": pages read, "written": writes acknowledged, "kept": read from a cache, "stale": …}.

    `posts` are the ids of WRITERS posts at /blog/post-N. The first half is edited, the second half commented on. /blog
    lists them. In a mode with a broken rule, the race ends with the first stale page.
    """
    context = multiprocessing.get_context("spawn")
    acknowledged = context.Array("q", [0] * WRITERS)
    counts = context.Array("q", [0] * 4)
    arguments = (seconds, mode, uri, database_name, posts, acknowledged, counts, context.Event())
    processes = [context.Process(target=write, args=(n, *arguments)) for n in range(WRITERS)]
    processes += [context.Process(target=read, args=(n, *arguments)) for n in range(READERS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise RuntimeError("a writer or reader failed")
    return dict(zip(("read", "written", "kept", "stale"), counts, strict=True))


def write(
    n: int, seconds: float, mode: str, uri: str, name: str, posts: list[str], acknowledged: Any, counts: Any, found: Any
) -> None:
    """Edit or comment on one post repeatedly, and report each acknowledgement."""
    begin(uri, name, mode)
    from bson import ObjectId

    from marginalia.comments.posting import services as comments
    from marginalia.comments.types import CommentAuthor
    from nodes.models import Node
    from nodes.selectors import stored_nodes
    from nodes.services import editing
    from nodes.types import Actor

    node = stored_nodes.get(ObjectId(posts[n]))
    assert isinstance(node, Node)
    written, nonce, end = 0, node.metadata.nonce, time.monotonic() + seconds
    while time.monotonic() < end and not found.is_set():
        written += 1
        text = f"written-{written}-"
        if n < WRITERS // 2:
            changes = {"detail.text": text, "title": f"Post {n} {text}"}
            nonce = editing.save(Actor(None, "Ann"), node.pk, nonce, changes).nonce
        else:
            token = "".join("abcdefghijklmnopqrstuvwxyz234567"[(written >> (5 * i)) & 31] for i in range(16))
            comments.post(node, author=CommentAuthor("Bea"), source=text, token=token)
        acknowledged[n] = written
        found.wait(random.uniform(0, 2 * PACE))
    with counts.get_lock():
        counts[1] += written


def read(
    n: int, seconds: float, mode: str, uri: str, name: str, posts: list[str], acknowledged: Any, counts: Any, found: Any
) -> None:
    """Read the posts in turn, or with half of the readers their list, and compare with what was acknowledged before.

    The page of a post is cached with the post's nonce and the site's versions, the list only with the versions.
    """
    begin(uri, name, mode)
    from django.test import Client

    from reader.page_cache import entries

    kept = [0]
    is_current = entries.Entry.is_current

    def counting(self: Any, present: Any) -> bool:
        is_held = is_current(self, present)
        kept[0] += is_held
        return is_held

    entries.Entry.is_current = counting  # type: ignore[method-assign]
    client, reads, stale, end = Client(), 0, 0, time.monotonic() + seconds
    while time.monotonic() < end and not found.is_set():
        which = (n // 2 + reads // IN_A_ROW) % WRITERS
        before = list(acknowledged)
        reads += 1
        if n % 2:
            listed = LISTED.findall(client.get("/blog").content)
            stale += any(int(number) < before[int(post)] for post, number in listed)
        else:
            page = client.get(f"/blog/post-{which}?comments=newest").content
            stale += max(map(int, SHOWN.findall(page)), default=0) < before[which]
        if stale and mode != "sound":
            found.set()
    with counts.get_lock():
        counts[0] += reads
        counts[2] += kept[0]
        counts[3] += stale


def begin(uri: str, name: str, mode: str) -> None:
    """Set up Django in a new process, with the test's server and database, and break the rule of `mode`."""
    os.environ.update(DJANGO_SETTINGS_MODULE="tests.settings", TEST_MONGODB_URI=uri)
    import logging

    import django
    from django.db import connections
    from pymongo import monitoring

    class HoldingUp(monitoring.CommandListener):
        """A command listener that delays the process like a hostile scheduler."""

        pause = threading.Event()

        def started(self, event: monitoring.CommandStartedEvent) -> None:
            pass

        def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
            if random.random() < 0.2:
                self.pause.wait(random.uniform(0, HELD_UP))

        def failed(self, event: monitoring.CommandFailedEvent) -> None:
            pass

    assert name.startswith("test_")
    monitoring.register(HoldingUp())
    connections.settings["default"]["NAME"] = name
    django.setup()
    logging.disable(logging.INFO)
    if mode == "bump-first":
        _bump_first()
    elif mode == "version-late":
        _version_late()


def _bump_first() -> None:
    from nodes.services import editing, site, write

    write_node = editing.compare_and_set
    invalidate = site.invalidate

    def early(*args: Any, **kwargs: Any) -> Any:
        invalidate()
        threading.Event().wait(HELD_UP)
        return write_node(*args, **kwargs)

    editing.compare_and_set = early  # type: ignore[assignment]
    write.invalidate = lambda *reached: None  # type: ignore[assignment]


def _version_late() -> None:
    from nodes.models import stored_site
    from reader.page_cache import middleware

    sound = middleware.is_shareable

    def late(request: Any, response: Any) -> bool:
        middleware.Entry = _with_version(middleware.Entry, stored_site.read().versions)  # type: ignore[misc]
        return sound(request, response)

    middleware.is_shareable = late


def _with_version(entry: Any, versions: Any) -> Any:
    original = getattr(entry, "original", entry)

    def make(site_versions: Any, *rest: Any, **fields: Any) -> Any:
        return original(versions, *rest, **fields)

    make.original = original  # type: ignore[attr-defined]
    make.response = original.response  # type: ignore[attr-defined]
    return make
