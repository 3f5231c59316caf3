"""Which server answers, and whether it is one to trust with data."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from marginalia.mongo import status
from marginalia.mongo.clock import now
from marginalia.mongo.connection import client
from marginalia.mongo.doctor.findings import ERROR, WARNING, Examination, Finding, check
from marginalia.mongo.servers import OLDEST_VERSION

# MongoDB's published ends of life, by release series.
END_OF_LIFE = {(6, 0): datetime(2025, 7, 31, tzinfo=UTC), (7, 0): datetime(2027, 8, 31, tzinfo=UTC)}
MIN_MEMBERS = 3
MAX_SKEW_SECONDS = 5.0  # seconds


@dataclass(frozen=True)
class Fault:
    """A fault of MongoDB itself: what may happen, and by release series the first version without it."""

    name: str
    effect: str
    fixed_in: dict[tuple[int, int], int]


# Those that a site can meet. What a later series never had is not named.
FAULTS = (
    Fault(
        "CVE-2025-14847",
        "who reaches its port reads memory of the server without a password",
        {(6, 0): 27, (7, 0): 28, (8, 0): 17, (8, 2): 3},
    ),
    Fault(
        "the alert of April 2024",
        "transactions on several shards may miss reads and writes while chunks are moved",
        {(6, 0): 14, (7, 0): 8},
    ),
)


@check
def server_version(examination: Examination) -> Iterator[Finding]:
    """Supported, and still getting security fixes."""
    series: tuple[int, int] = tuple(client(examination.alias).server_info()["versionArray"][:2])
    spelled = ".".join(map(str, series))
    if series < OLDEST_VERSION:
        yield Finding(
            ERROR, "server-too-old", examination.alias, f"MongoDB {spelled} is not supported.", "Upgrade to 8.0."
        )
    elif (end := END_OF_LIFE.get(series)) and end < datetime.now(UTC):
        message = f"MongoDB {spelled} gets no more security fixes (since {end:%Y-%m-%d})."
        yield Finding(
            examination.for_production, "server-end-of-life", examination.alias, message, "Upgrade to 7.0 or 8.0."
        )


@check
def server_faults(examination: Examination) -> Iterator[Finding]:
    """No version that is known to be faulty."""
    version = client(examination.alias).server_info()["versionArray"]
    for fault, mended in known_faults(version):
        spelled = ".".join(map(str, version[:3]))
        message = f"MongoDB {spelled} has a known fault ({fault.name}): {fault.effect}."
        yield Finding(
            examination.for_production, "server-faulty", examination.alias, message, f"Upgrade to {mended} or later."
        )


def known_faults(version: list[int]) -> list[tuple[Fault, str]]:
    """Return the known faults of a version such as [6, 0, 5, 0], each with the first one of its series that lacks it."""
    series = (version[0], version[1])
    return [
        (fault, f"{series[0]}.{series[1]}.{mended}")
        for fault in FAULTS
        if (mended := fault.fixed_in.get(series)) is not None and version[2] < mended
    ]


@check
def server_topology(examination: Examination) -> Iterator[Finding]:
    """A replica set or mongos; three members, so that one may fail."""
    hello = client(examination.alias).admin.command("hello")
    if hello.get("msg") == "isdbgrid":
        return
    if "setName" not in hello:
        yield Finding(
            ERROR,
            "standalone",
            examination.alias,
            "The server is a standalone: no transactions, no retried writes.",
            "Start it with --replSet and initiate the set.",
        )
        return
    members = len(hello["hosts"]) + len(hello.get("passives", ()))  # which never become the primary
    if members < MIN_MEMBERS:
        yield Finding(
            examination.for_production,
            "few-members",
            examination.alias,
            f"The replica set has {members} member{'s' if members > 1 else ''}: when one fails, writes stop.",
            "Add members until there are three, on machines of their own.",
        )
    known = status.members(examination.alias)
    for name in known.down if known else ():
        yield Finding(
            WARNING, "member-down", name, "This member of the replica set is not healthy.", "See rs.status()."
        )


@check
def clocks(examination: Examination) -> Iterator[Finding]:
    """This machine's clock and the primary's agree."""
    began = now()
    theirs = client(examination.alias).admin.command("hello")["localTime"].replace(tzinfo=UTC)
    skew = max((began - theirs).total_seconds(), (theirs - now()).total_seconds())
    if skew > MAX_SKEW_SECONDS:
        message = f"This machine's clock and MongoDB's differ by {skew:,.0f} s."
        fix = "Synchronize the clocks of all machines, for example with chrony, then run the doctor again."
        yield Finding(ERROR, "clock-skewed", examination.alias, message, fix)


@check
def transport(examination: Examination) -> Iterator[Finding]:
    """The server authenticates its clients, and the connection is encrypted."""
    options = client(examination.alias).options
    # Not among the options by name: a user in the URI is no option of pymongo's, but becomes its credentials.
    if options.pool_options._credentials is None:
        yield Finding(
            examination.for_production,
            "no-authentication",
            examination.alias,
            "The connection names no user.",
            "Enable authentication and name a user in MONGODB_URI.",
        )
    if not options._options.get("tls"):
        yield Finding(
            examination.for_production,
            "no-tls",
            examination.alias,
            "The connection is not encrypted.",
            "Give the server a certificate and add tls=true to MONGODB_URI.",
        )
