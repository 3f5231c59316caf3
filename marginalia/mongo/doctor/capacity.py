"""Checks of capacity: the lag of secondaries, the oplog, the disk, and connections."""

from collections.abc import Iterator

from marginalia.mongo import status
from marginalia.mongo.connection import client
from marginalia.mongo.doctor.findings import WARNING, Examination, Finding, check

MAX_LAG_SECONDS = 60.0  # seconds
MIN_OPLOG_SECONDS = 24 * 60 * 60.0  # seconds
# The age of an oplog only matters if it is nearly full, because otherwise it hasn't lost anything yet.
FULL_OPLOG = 0.9
# The disk needs a tenth of its size as free space, or ENOUGH_FREE_BYTES if a tenth is more.
MIN_FREE_SHARE = 0.1
ENOUGH_FREE_BYTES = 20 * 1024**3
MIN_FREE_CONNECTIONS_SHARE = 0.2  # of the server's maximum


@check
def replication(examination: Examination) -> Iterator[Finding]:
    """Check that every secondary keeps up, and that the oplog covers a day of downtime."""
    members = status.members(examination.alias)
    oplog = status.oplog(examination.alias)
    for name, seconds in (members.lag if members else {}).items():
        if seconds > MAX_LAG_SECONDS:
            message = f"This member is {seconds:,.0f} s behind: majority writes may wait for it, and an election takes longer."
            fix = "See its disk, its load and the network to it."
            yield Finding(WARNING, "replication-lag", name, message, fix)
    # In a set without secondaries, no member can be down and catch up later.
    if members and members.lag and oplog and oplog.filled > FULL_OPLOG and oplog.seconds < MIN_OPLOG_SECONDS:
        hours = oplog.seconds / 3600
        message = f"The oplog reaches {hours:,.1f} hours back: a member that is away for longer has to copy everything."
        fix = "Make it larger on each member: replSetResizeOplog."
        yield Finding(WARNING, "oplog-short", examination.alias, message, fix)


@check
def disk_space(examination: Examination) -> Iterator[Finding]:
    """Check that the disk has room for the database to grow."""
    disk = status.disk(examination.alias)
    if disk and disk.free < min(MIN_FREE_SHARE * disk.total, ENOUGH_FREE_BYTES):
        message = f"{disk.free / 1024**3:,.1f} GiB of {disk.total / 1024**3:,.0f} are free where the database lies."
        fix = "Make room: MongoDB ends when its disk is full."
        yield Finding(WARNING, "disk-low", examination.alias, message, fix)


@check
def scratch_databases(examination: Examination) -> Iterator[Finding]:
    """Check that no interrupted command left its scratch database behind."""
    for name in status.abandoned_scratch_databases(examination.alias):
        message = "import_site --verify made this database, and was stopped before it deleted it."
        fix = f'As a user who may, in mongosh: db.getSiblingDB("{name}").dropDatabase().'
        yield Finding(WARNING, "scratch-left", name, message, fix)


@check
def connections(examination: Examination) -> Iterator[Finding]:
    """Check that the server accepts as many connections as the site can open."""
    server = status.server(examination.alias)
    pool = client(examination.alias).options.pool_options.max_pool_size
    if server is None:
        return
    fix = "Raise net.maxIncomingConnections and the limit of open files, or lower maxPoolSize in MONGODB_URI."
    if pool is None or pool > server.max_connections:
        message = (
            f"A process may open {pool or 'any number of'} connections; the server takes {server.max_connections:,}."
        )
        yield Finding(WARNING, "pool-above-limit", examination.alias, message, fix)
    if server.connections > (1 - MIN_FREE_CONNECTIONS_SHARE) * server.max_connections:
        message = (
            f"{server.connections:,} of the {server.max_connections:,} connections that the server takes are open."
        )
        yield Finding(WARNING, "connections-few", examination.alias, message, fix)
