"""Checks of the system's capacity: replication lag, the oplog, the disk, and connections."""

from collections.abc import Iterator

from marginalia.mongo import status
from marginalia.mongo.connection import client
from marginalia.mongo.doctor.findings import WARNING, Examination, Finding, check

MAX_LAG_SECONDS = 60.0  # seconds
MIN_OPLOG_SECONDS = 24 * 60 * 60.0  # seconds
# An oplog is considered full if it exceeds this share of its maximum size. The period that an oplog covers matters only
# then, because the server hasn't deleted any entries before that.
FULL_OPLOG = 0.9
# Free space is low if it is less than this share of the disk's size and less than ENOUGH_FREE_BYTES.
MIN_FREE_SHARE = 0.1
ENOUGH_FREE_BYTES = 20 * 1024**3
MIN_FREE_CONNECTIONS_SHARE = 0.2  # as a share of the server's maximum


@check
def replication(examination: Examination) -> Iterator[Finding]:
    """Check that every secondary keeps up with the primary, and could still catch up after a day of downtime."""
    members = status.members(examination.alias)
    oplog = status.oplog(examination.alias)
    for name, seconds in (members.lag if members else {}).items():
        if seconds > MAX_LAG_SECONDS:
            message = (
                f"This member is {seconds:,.0f} s behind. Majority writes may wait for it, and elections take longer."
            )
            fix = "Check its disk, its load and its network."
            yield Finding(WARNING, "replication-lag", name, message, fix)
    # In a replica set without secondaries, no member has to catch up after downtime, so a short oplog does no harm.
    if members and members.lag and oplog and oplog.filled > FULL_OPLOG and oplog.seconds < MIN_OPLOG_SECONDS:
        hours = oplog.seconds / 3600
        message = f"The oplog covers only {hours:,.1f} hours. A member that is down for longer has to copy all data."
        fix = "Run replSetResizeOplog on each member to enlarge it."
        yield Finding(WARNING, "oplog-short", examination.alias, message, fix)


@check
def disk_space(examination: Examination) -> Iterator[Finding]:
    """Check that the disk has room for the database to grow."""
    disk = status.disk(examination.alias)
    if disk and disk.free < min(MIN_FREE_SHARE * disk.total, ENOUGH_FREE_BYTES):
        message = (
            f"Only {disk.free / 1024**3:,.1f} GiB of {disk.total / 1024**3:,.0f} GiB are "
            "free on the disk of the database."
        )
        fix = "Free some space. MongoDB stops when its disk is full."
        yield Finding(WARNING, "disk-low", examination.alias, message, fix)


@check
def scratch_databases(examination: Examination) -> Iterator[Finding]:
    """Check that no interrupted command has left its scratch database behind."""
    for name in status.abandoned_scratch_databases(examination.alias):
        message = "import_site --verify created this database, but was interrupted before deleting it."
        fix = f'Run db.getSiblingDB("{name}").dropDatabase() in mongosh, as a user with permission to drop it.'
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
            f"Each process can open {pool or 'any number of'} connections, but the server accepts "
            f"only {server.max_connections:,}."
        )
        yield Finding(WARNING, "pool-above-limit", examination.alias, message, fix)
    if server.connections > (1 - MIN_FREE_CONNECTIONS_SHARE) * server.max_connections:
        message = f"{server.connections:,} of the server's {server.max_connections:,} connections are open."
        yield Finding(WARNING, "connections-few", examination.alias, message, fix)
