"""A race between the writers and readers of two web servers, whose processes share only MongoDB with the other server.

Each web server is a group of processes that are forked from one parent, so they share the stamps and the pages. Each
reader knows which changes were acknowledged before its request. It must see the changes by its own server immediately,
and the changes by the other server within stamps.HEARD_WITHIN.

`sound` runs the site as it is. Each other mode breaks one rule (SABOTAGES), to show that the race finds it.
"""

import multiprocessing
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any

GROUPS, READERS, LISTENERS = 2, 2, 2
# What the writers of a group do. Each writer has its own post, so posts and writers have the same numbers.
DEEDS = ("edit", "comment", "tag")
WRITERS = GROUPS * len(DEEDS)
# Average pause of a writer, pause of a reader, and maximum delay of a process after a command, in seconds.
PACE, BREATH, HELD_UP = 2.0, 0.003, 0.05
# How often a reader requests one page in a row.
IN_A_ROW = 8
MAX_WRITES, MAX_AGE_MS, MAX_SECONDS = 2_000, 10_000, 600
OWN, OTHER = range(2)
SHOWN = re.compile(rb"w(\d)x(\d+)y")
# The seconds between two disturbances of a listening process, and how long it is stopped.
DISTURBED_EVERY, STOPPED = 3.0, 1.5
# The time in seconds within which the first page must be read.
STARTS_WITHIN = 60
# How far the clock of one reader and one listening process is wrong, in seconds, by the disturbance.
CLOCKS = {"clock-ahead": 600, "clock-behind": -600}
_is_misled = False
# The server's errors if the oplog no longer contains the position of a change stream.
CAPPED_POSITION_LOST, CHANGE_STREAM_HISTORY_LOST = 136, 286


class Shared:
    """What all processes of a race share, besides MongoDB."""

    def __init__(self, uri: str, name: str, posts: list[str], mode: str, disturbance: str, stopped: float) -> None:
        context = multiprocessing.get_context("spawn")
        self.uri, self.name, self.posts, self.mode = uri, name, posts, mode
        self.disturbance, self.stopped = disturbance, stopped
        # The last acknowledged change of each writer, and the time of each acknowledgement in nanoseconds.
        self.acknowledged = context.Array("q", [0] * WRITERS)
        self.times = context.Array("q", [0] * WRITERS * MAX_WRITES, lock=False)
        # The number of reads by the age of the page in milliseconds, for changes by the own and the other server.
        self.ages = [context.Array("q", [0] * MAX_AGE_MS) for _ in (OWN, OTHER)]
        self.reads, self.known, self.stale, self.failed = (context.Value("q", 0) for _ in range(4))
        # For each group, the reads without a command in each second, the listening process, and its number of changes.
        self.known_in = [context.Array("q", [0] * MAX_SECONDS) for _ in range(GROUPS)]
        self.listening = context.Array("q", [0] * GROUPS)
        self.disturbed = context.Value("q", 0)
        # The reads without a command by the reader whose clock is wrong, and the listeners that missed changes.
        self.misled, self.missed = context.Value("q", 0), context.Value("q", 0)
        self.resting = [context.Event() for _ in range(GROUPS)]
        self.over = context.Event()
        self.began = time.monotonic()


def race(
    uri: str,
    name: str,
    posts: list[str],
    *,
    mode: str = "sound",
    disturbance: str = "",
    stopped: float = STOPPED,
    reads: int = 0,
    seconds: float,
    meanwhile: Callable[[], None] = lambda: None,
) -> Shared:
    """Run the race for at least `seconds` and until there are enough reads, and return what was counted.

    `posts` are the ids of WRITERS posts at /blog/post-N. In a mode with a broken rule, the race ends with the first
    page that is too old. `disturbance` is "stop" or "kill" to stop or kill the listening processes again and again, or
    one of CLOCKS. `stopped` is the number of seconds for which a process is stopped.
    `meanwhile` runs in the calling process during the race.
    """
    shared = Shared(uri, name, posts, mode, disturbance, stopped)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=serve, args=(group, shared)) for group in range(GROUPS)]
    for process in processes:
        process.start()
    try:
        # The race begins with the first reads.
        begun = shared.began + STARTS_WITHIN
        while not shared.reads.value and time.monotonic() < begun and all(process.is_alive() for process in processes):
            time.sleep(0.05)
        end = time.monotonic() + seconds
        meanwhile()
        while time.monotonic() < end or (shared.reads.value < reads and time.monotonic() < end + 2 * seconds):
            if shared.over.wait(0.1):
                break
    finally:
        shared.over.set()
        for process in processes:
            process.join()
    if any(process.exitcode for process in processes):
        raise RuntimeError("a web server failed")
    return shared


def serve(group: int, shared: Shared) -> None:
    """Run the processes of one web server, and disturb the listening process."""
    begin(shared.uri, shared.name)
    from reader.page_cache import listener, middleware  # noqa: F401 - the processes share their memory

    SABOTAGES[shared.mode]()
    context = multiprocessing.get_context("fork")

    def start(target: Callable[..., None], *arguments: Any) -> Any:
        process = context.Process(target=_run, args=(target, *arguments, group, shared))
        process.start()
        return process

    def start_all(target: Callable[..., None], number: int) -> list[Any]:
        """Start processes, the first of which has the wrong clock of the disturbance."""
        first = start(mislead, target) if shared.disturbance in CLOCKS else start(target)
        return [first, *(start(target) for _ in range(number - 1))]

    workers = start_all(read, READERS)
    workers += [start(write, n) for n in range(group * len(DEEDS), (group + 1) * len(DEEDS))]
    listeners = start_all(listen, LISTENERS)
    while not shared.over.wait(DISTURBED_EVERY):
        process_id = shared.listening[group]
        if process_id and shared.disturbance in ("stop", "kill"):
            with shared.disturbed.get_lock():
                shared.disturbed.value += 1
            if shared.disturbance == "stop":
                os.kill(process_id, signal.SIGSTOP)
                shared.over.wait(shared.stopped)
                os.kill(process_id, signal.SIGCONT)
            else:
                _kill(process_id, group, shared)
                listeners.append(start(listen))
    for process in (*workers, *listeners):
        process.join()
    if any(process.exitcode for process in workers):
        raise RuntimeError("a writer or reader failed")


def _kill(process_id: int, group: int, shared: Shared) -> None:
    """Kill the listening process. Let no page be read until another process listens, because reads renew pages."""
    shared.resting[group].set()
    shared.listening[group] = 0
    os.kill(process_id, signal.SIGKILL)
    end = time.monotonic() + 5
    while not shared.listening[group] and time.monotonic() < end:
        shared.over.wait(0.02)
    shared.over.wait(0.5)  # until a heartbeat has come back
    shared.resting[group].clear()


def _run(target: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    target(*arguments)


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def mislead(target: Callable[..., None], group: int, shared: Shared) -> None:
    """Run a function in a process whose clock is wrong."""
    set_clock(CLOCKS[shared.disturbance])
    target(group, shared)


def set_clock(seconds: int) -> None:
    """Change the clock of this process. The clock of the machine and the monotonic clock stay as they are."""
    global _is_misled
    from marginalia.mongo import clock

    right, _is_misled = time.time, True
    time.time = lambda: right() + seconds
    clock.datetime = shifted(seconds)  # type: ignore[misc]


def shifted(seconds: int) -> type[datetime]:
    """Return a class whose `now` is wrong."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(seconds=seconds)

    return Shifted


def listen(group: int, shared: Shared) -> None:
    """Listen, or wait until the other process of the group no longer listens."""
    from pymongo.errors import OperationFailure

    from reader.change_stream import HistoryLost
    from reader.page_cache import stamps
    from reader.page_cache.listener import Listener, run

    begin_epoch, listen_once = stamps.begin_epoch, Listener.listen

    def noted(*arguments: Any) -> Any:
        result = begin_epoch(*arguments)
        shared.listening[group] = os.getpid()
        return result

    def watched(self: Listener, stopping: threading.Event) -> None:
        try:
            listen_once(self, stopping)
        except (OperationFailure, HistoryLost) as error:
            if getattr(error.__cause__ or error, "code", 0) in (CAPPED_POSITION_LOST, CHANGE_STREAM_HISTORY_LOST):
                with shared.missed.get_lock():
                    shared.missed.value += 1
            raise

    Listener.listen = watched  # type: ignore[method-assign]
    stamps.begin_epoch = noted
    run(shared.over)


def write(n: int, group: int, shared: Shared) -> None:
    """Change one post again and again, and report each acknowledgement."""
    from bson import ObjectId
    from pymongo.errors import PyMongoError

    from marginalia.comments.posting import services as comments
    from marginalia.comments.types import CommentAuthor
    from nodes.selectors import stored_nodes
    from nodes.services import editing
    from nodes.types import NO_TAGS, Actor, TagChange

    id, deed, written = ObjectId(shared.posts[n]), DEEDS[n % len(DEEDS)], 0
    while not shared.over.wait(random.uniform(0, 2 * PACE)) and written < MAX_WRITES - 1:
        marker = f"w{n}x{written + 1}y"
        try:
            node = stored_nodes.get(id)
            if deed == "comment":
                token = "".join("abcdefghijklmnopqrstuvwxyz234567"[(written >> (5 * i)) & 31] for i in range(16))
                comments.post(node, author=CommentAuthor("Bea"), source=marker, token=token)
            else:
                tags = TagChange(frozenset([marker]), frozenset(node.metadata.tags)) if deed == "tag" else NO_TAGS
                changes = {"detail.text": marker, "title": f"Post {marker}"} if deed == "edit" else {}
                editing.save(Actor(None, "Ann"), id, node.metadata.nonce, changes, tags)
        except PyMongoError:
            continue  # no primary is available: the change isn't acknowledged
        written += 1
        shared.times[n * MAX_WRITES + written] = time.monotonic_ns()
        shared.acknowledged[n] = written


def read(group: int, shared: Shared) -> None:
    """Read the posts and their list, and compare them with what was acknowledged before."""
    from django.test import Client

    from cms.requests.stale import WARNING_HEADER
    from tests.support.commands import CommandLog

    client, log, which, requests = Client(raise_request_exception=False), CommandLog(), 0, 0
    while not shared.over.is_set():
        if shared.resting[group].is_set():
            time.sleep(BREATH)
            continue
        if requests % IN_A_ROW == 0:
            time.sleep(BREATH)
            which = random.randrange(WRITERS + 1)
        requests += 1
        path = "/blog" if which == WRITERS else f"/blog/post-{which}?comments=newest"
        before = list(shared.acknowledged)
        start = time.monotonic_ns()
        with log.recorded():
            response = client.get(path)
        if response.status_code != 200 or response.headers.get("Warning") == WARNING_HEADER:
            with shared.failed.get_lock():
                shared.failed.value += 1
            continue
        shown = _shown(response.content) | ({} if which == WRITERS else {which: _shown(response.content).get(which, 0)})
        ages = [0, 0]
        for n, number in shown.items():
            if number < before[n]:
                kind = OWN if n // len(DEEDS) == group else OTHER
                ages[kind] = max(ages[kind], start - shared.times[n * MAX_WRITES + number + 1])
        for kind, age in enumerate(ages):
            with shared.ages[kind].get_lock():
                shared.ages[kind][min(-(-age // 1_000_000), MAX_AGE_MS - 1)] += 1
        with shared.reads.get_lock():
            shared.reads.value += 1
            if not log.names:
                shared.known.value += 1
                shared.misled.value += _is_misled
                shared.known_in[group][int(time.monotonic() - shared.began)] += 1
            if ages[OWN] or ages[OTHER] > BOUND:
                shared.stale.value += 1
        if shared.stale.value and shared.mode != "sound":
            shared.over.set()


def _shown(content: bytes) -> dict[int, int]:
    """Return the number of the change that a page shows of each writer. Edits change several places at once."""
    numbers: dict[int, list[int]] = {}
    for n, number in SHOWN.findall(content):
        numbers.setdefault(int(n), []).append(int(number))
    return {n: min(seen) if DEEDS[n % len(DEEDS)] == "edit" else max(seen) for n, seen in numbers.items()}


BOUND = 500_000_000  # stamps.HEARD_WITHIN, which one of the modes breaks


def begin(uri: str, name: str) -> None:
    """Set up Django in a new process, with this server and database, and delay the process after some commands."""
    os.environ.update(DJANGO_SETTINGS_MODULE="tests.settings", TEST_MONGODB_URI=uri)
    import logging

    import django
    from django.db import connections
    from pymongo import monitoring

    class HoldingUp(monitoring.CommandListener):
        """A command listener that delays the process like a hostile scheduler."""

        def started(self, event: monitoring.CommandStartedEvent) -> None:
            pass

        def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
            hold_up(0.2)

        def failed(self, event: monitoring.CommandFailedEvent) -> None:
            pass

    assert name.startswith("test_")
    monitoring.register(HoldingUp())
    connections.settings["default"] |= {"NAME": name, "HOST": uri}
    django.setup()
    logging.disable(logging.ERROR)


def hold_up(probability: float) -> None:
    """Delay this process, sometimes."""
    if random.random() < probability:
        time.sleep(random.uniform(0, HELD_UP))


def prepare(uri: str, name: str, result: Any) -> None:
    """Create the collections and the posts of a race in another replica set, and send the ids of the posts."""
    begin(uri, name)
    from marginalia.mongo import indexes

    indexes.ensure()
    result.send(create_posts())


def create_posts() -> list[str]:
    """Create the posts for the writers, and return their ids."""
    from cms.testing.build import PAST, node

    blog = node("blog", "blog")
    return [
        str(node("blog-entry", f"post-{n}", parent=blog, published=PAST, **{"detail.comments": "open"}))
        for n in range(WRITERS)
    ]


def roll_back(uri: str, name: str, post: str, mode: str, process_ids: dict[str, int], result: Any) -> None:
    """Cache a page with a change that is rolled back later, and send what the page shows after that.

    The result contains the page's text, whether it needed no command, and whether the change was rolled back.
    """
    begin(uri, name)
    from bson import ObjectId
    from django.test import Client
    from pymongo import MongoClient, WriteConcern

    from marginalia.mongo import connection
    from reader.page_cache import listener, stamps
    from tests.support.commands import CommandLog
    from tests.support.processes import until

    def page(path: str) -> tuple[str, bool]:
        with log.recorded():
            response = client.get(path)
        return response.content.decode(), not log.names

    def is_heard() -> bool:
        page("/blog")
        return time.monotonic_ns() - stamps._words[stamps._HEARD_UNTIL] < BOUND

    SABOTAGES[mode]()
    client, log = Client(raise_request_exception=False), CommandLog()
    listener.start()
    until(lambda: page("/blog/post-0")[1])
    first = "{}:{}".format(*connection.client().primary or ())
    members = {address: MongoClient[Any](f"mongodb://{address}/?directConnection=true") for address in process_ids}
    others = [member for address, member in members.items() if address != first]
    for member in others:
        member.admin.command("configureFailPoint", "stopReplProducer", mode="alwaysOn")
    nodes = members[first][name].get_collection("cms.nodes", write_concern=WriteConcern(w=1))
    this, text = {"_id": ObjectId(post)}, "This is rolled back."
    nodes.update_one(this, {"$set": {"metadata.detail.text": text, "metadata.nonce": ObjectId()}})
    # No heartbeat comes back, so this page is compared.
    until(lambda: text in page("/blog/post-0")[0])
    os.kill(process_ids[first], signal.SIGSTOP)
    for member in others:
        member.admin.command("configureFailPoint", "stopReplProducer", mode="off")
    until(lambda: "{}:{}".format(*connection.client().primary or ("", "")) not in (":", first))
    os.kill(process_ids[first], signal.SIGCONT)
    until(is_heard)
    content, is_known = page("/blog/post-0")
    until(lambda: not _contains(nodes, this, text))
    until(lambda: mode != "sound" or page("/blog/post-0")[1])
    result.send({"shows it": text in content, "without a command": is_known})


def _contains(nodes: Any, this: Any, text: str) -> bool:
    from pymongo.errors import PyMongoError

    try:
        return bool(nodes.find_one(this)["metadata"]["detail"]["text"] == text)
    except PyMongoError:  # during a rollback, a member answers no reads
        return True


def call(target: Callable[..., None], *arguments: Any) -> Any:
    """Run a function in a new process, and return what it sends."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        process.join()


def silence_listener() -> None:
    """Let the listener hear only heartbeats in this process."""
    from reader.collections import HEARTBEATS
    from reader.page_cache.listener import Listener

    handle = Listener._handle

    def handle_heartbeats(self: Any, event: Any) -> None:
        if event["ns"].get("coll") == HEARTBEATS:
            handle(self, event)

    Listener._handle = handle_heartbeats  # type: ignore[method-assign]


def _late_stamps() -> None:
    from reader.page_cache import stamps
    from reader.page_cache.entries import Entry

    add_proof = Entry.add_proof
    Entry.add_proof = lambda self, before: add_proof(self, stamps.snapshot())  # type: ignore[method-assign]


def _no_own_stamps() -> None:
    from reader.page_cache.listener import Listener
    from reader.page_cache.own_writes import OwnWrites

    handle = Listener._handle

    def late(self: Any, event: Any) -> None:
        hold_up(1)  # otherwise, the stream is often fast enough
        handle(self, event)

    Listener._handle = late  # type: ignore[method-assign]
    OwnWrites._ended = lambda self: None  # type: ignore[method-assign]


def _no_heartbeats() -> None:
    from reader.page_cache import stamps

    stamps.HEARD_WITHIN = 10**18


def _no_new_epoch() -> None:
    from reader.page_cache import stamps

    begin_epoch = stamps.begin_epoch

    def same_epoch(*arguments: Any) -> Any:
        words = stamps._words
        epoch, primary = words[stamps._EPOCH], words[stamps._PRIMARY]
        result = begin_epoch(*arguments)
        if epoch and primary:  # the first epoch may begin before the primary is known
            words[stamps._EPOCH], words[stamps._PRIMARY] = epoch, primary
        return result

    stamps.begin_epoch = same_epoch
    stamps.end_epoch = lambda: None


SABOTAGES: dict[str, Callable[[], None]] = {
    "sound": lambda: None,
    "silent-listener": silence_listener,
    "late-stamps": _late_stamps,
    "no-own-stamps": _no_own_stamps,
    "no-heartbeats": _no_heartbeats,
    "no-new-epoch": _no_new_epoch,
}


def percentile(ages: Any, share: float) -> int:
    """Return the age in milliseconds that this share of the reads doesn't exceed."""
    total, seen = sum(ages), 0
    for age, count in enumerate(ages):
        seen += count
        if seen and seen >= share * total:
            return age
    return 0


def report(shared: Shared) -> str:
    """Return the figures of a race in one line."""
    kinds = {"own": list(shared.ages[OWN]), "other": list(shared.ages[OTHER])}
    parts = [
        f"{name}: p50 {percentile(ages, 0.5)} p99 {percentile(ages, 0.99)} max {percentile(ages, 1)} ms, "
        f"old {sum(ages[1:])} (their p50 {percentile([0, *ages[1:]], 0.5)} p99 {percentile([0, *ages[1:]], 0.99)})"
        for name, ages in kinds.items()
    ]
    return (
        f"{shared.mode} {shared.disturbance} {time.monotonic() - shared.began:.0f} s: {shared.reads.value} reads, "
        f"{shared.known.value / max(1, shared.reads.value):.3f} without a command, {shared.failed.value} failed or "
        f"marked, {sum(shared.acknowledged)} writes, {shared.disturbed.value} disturbances, {shared.missed.value} missed, "
        f"{shared.stale.value} too old; {'; '.join(parts)}"
    )
