"""No reader sees a page that is too old while the page cache listens for changes, whatever fails."""

import os
import signal
import time
from collections.abc import Iterator
from itertools import count

import pytest
from pymongo import MongoClient

from cms.testing.settings import URI
from marginalia.testing.mongod import EphemeralMongod, Member
from tests.reader.page_cache import listening_races as races

pytestmark = pytest.mark.slow

READS = 50_000
SECONDS = 50
# The longest time in seconds until a race finds a broken rule.
PATIENCE = 40
DISTURBANCES = {"no-heartbeats": "stop"}
# A missing epoch is too rare for a race. See test_page_with_a_rolled_back_change_is_compared.
UNRACED = ("sound", "no-new-epoch")


@pytest.fixture
def posts(mongo):
    return races.create_posts()


def run(posts, database, **options):
    return report(races.race(os.environ[URI], database.name, posts, **options))


def report(shared):
    print(races.report(shared))  # noqa: T201 - what a slow test did is worth reading
    return shared


def test_readers_of_two_servers_see_no_page_that_is_too_old(mongo, posts):
    shared = run(posts, mongo, reads=READS, seconds=SECONDS)
    assert shared.stale.value == 0
    assert shared.reads.value >= READS
    assert shared.known.value > READS / 2
    assert sum(shared.acknowledged) > 30


@pytest.mark.parametrize("mode", [mode for mode in races.SABOTAGES if mode not in UNRACED])
def test_race_detects_a_broken_rule(mongo, posts, mode):
    shared = run(posts, mongo, mode=mode, disturbance=DISTURBANCES.get(mode, ""), seconds=PATIENCE)
    assert shared.stale.value


@pytest.mark.parametrize("disturbance", ["stop", "kill"])
def test_no_page_is_too_old_when_listening_processes_fail(mongo, posts, disturbance):
    shared = run(posts, mongo, disturbance=disturbance, seconds=15)
    assert shared.stale.value == 0
    assert shared.disturbed.value > 3
    assert shared.known.value > 100


@pytest.mark.parametrize("disturbance", races.CLOCKS)
def test_no_page_is_too_old_when_the_clock_of_a_process_is_wrong(mongo, posts, disturbance):
    shared = run(posts, mongo, disturbance=disturbance, seconds=15)
    assert shared.stale.value == 0
    assert shared.known.value > shared.reads.value / 4
    assert shared.misled.value > 100


def test_no_page_is_too_old_when_the_oplog_no_longer_has_what_a_listener_missed():
    # MongoDB removes old entries from the oplog only after a checkpoint, which it makes every second here.
    with (
        EphemeralMongod(oplog_mb=2, journaled=False, extra_args=["--syncdelay", "1"]) as server,
        MongoClient(server.uri) as client,
    ):
        posts = races.call(races.prepare, server.uri, "test_races")

        def fill() -> None:
            end = time.monotonic() + 30
            while time.monotonic() < end:
                client["test_oplog"].filling.replace_one({}, {"bytes": os.urandom(1_000_000)}, upsert=True)

        shared = report(
            races.race(server.uri, "test_races", posts, disturbance="stop", stopped=5, seconds=40, meanwhile=fill)
        )
    assert shared.stale.value == 0
    assert shared.missed.value
    assert shared.known.value > 100


@pytest.fixture(scope="module")
def replica_set() -> Iterator[EphemeralMongod]:
    # With this parameter, the members accept configureFailPoint.
    with EphemeralMongod(members=3, extra_args=["--setParameter", "enableTestCommands=1"]) as server:
        yield server


_databases = count()


@pytest.fixture
def site(replica_set) -> tuple[str, str, list[str]]:
    """Return the URI of the replica set, the name of a database with a site, and the ids of the site's posts."""
    name = f"test_races_{next(_databases)}"
    return replica_set.uri, name, races.call(races.prepare, replica_set.uri, name)


def primary(server: EphemeralMongod) -> Member:
    with MongoClient(server.uri) as client:
        client.admin.command("ping")
        return next(member for member in server.members if member.address == "{}:{}".format(*client.primary))


def hang(member: Member, seconds: float) -> None:
    os.kill(member.pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(member.pid, signal.SIGCONT)


def test_no_page_is_too_old_when_members_of_the_replica_set_fail(replica_set, site):
    uri, name, posts = site

    def fail():
        time.sleep(4)
        with MongoClient(uri) as client:
            client[name]["cms.trash"].drop()  # its history is lost
            time.sleep(4)
            client.admin.command("replSetStepDown", 5, secondaryCatchUpPeriodSecs=2)
        time.sleep(6)
        first = primary(replica_set)
        hang(next(member for member in replica_set.members if member is not first), 3)
        time.sleep(2)
        hang(primary(replica_set), 6)

    shared = report(races.race(uri, name, posts, seconds=45, meanwhile=fail))
    assert shared.stale.value == 0
    assert shared.known.value > 100
    for group in range(races.GROUPS):
        seconds = [second for second, number in enumerate(shared.known_in[group]) if number]
        print(f"group {group}, seconds with pages without a command: {seconds}")  # noqa: T201
        assert max(seconds) > time.monotonic() - shared.began - 6


@pytest.mark.parametrize("mode", ["sound", "no-new-epoch"])
def test_page_with_a_rolled_back_change_is_compared(replica_set, site, mode):
    uri, name, posts = site
    members = {member.address: member.pid for member in replica_set.members}
    try:
        result = races.call(races.roll_back, uri, name, posts[0], mode, members)
    finally:
        for process_id in members.values():
            os.kill(process_id, signal.SIGCONT)
    assert result == {"shows it": mode != "sound", "without a command": mode != "sound"}
