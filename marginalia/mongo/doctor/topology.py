"""Checks of the server: version, known bugs, members, clock, authentication and encryption."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from marginalia.mongo import status
from marginalia.mongo.clock import now
from marginalia.mongo.connection import client
from marginalia.mongo.doctor.findings import ERROR, WARNING, Examination, Finding, check
from marginalia.mongo.servers import OLDEST_VERSION

# The end-of-life dates that MongoDB has published, by release series.
END_OF_LIFE = {
    (6, 0): datetime(2025, 7, 31, tzinfo=UTC),
    (7, 0): datetime(2027, 8, 31, tzinfo=UTC),
    (8, 0): datetime(2029, 10, 31, tzinfo=UTC),
    (8, 2): datetime(2026, 7, 31, tzinfo=UTC),
}
MIN_MEMBERS = 3
MAX_SKEW_SECONDS = 5.0  # seconds


@dataclass(frozen=True)
class Fault:
    """A bug in MongoDB: its effect, and the first fixed version in each release series."""

    name: str
    effect: str
    fixed_in: dict[tuple[int, int], int]


# Bugs that can affect a site. Release series that never had the bug aren't listed.
FAULTS = (
    Fault(
        "CVE-2025-14847",
        "anyone who can reach its port can read the server's memory without a password",
        {(6, 0): 27, (7, 0): 28, (8, 0): 17, (8, 2): 3},
    ),
    Fault(
        "the alert of April 2024",
        "transactions on several shards can lose reads and writes while chunks are moved",
        {(6, 0): 14, (7, 0): 8},
    ),
    Fault(
        "CVE-2026-11933",
        "a user who can run JavaScript in queries can read the server's memory or crash the server",
        {(6, 0): 29, (7, 0): 37, (8, 0): 26, (8, 2): 11, (8, 3): 4},
    ),
    Fault(
        "CVE-2026-82058",
        "a user with write access can crash the server with an array that a validator rejects",
        {(7, 0): 41, (8, 0): 30, (8, 3): 9},
    ),
    Fault("SERVER-131805", "MongoDB's release notes list it as a critical advisory", {(8, 3): 13}),
    Fault(
        "CVE-2026-118383",
        "anyone who can reach its port can crash a new primary without a password",
        {(6, 0): 30, (7, 0): 48, (8, 0): 37, (8, 3): 16, (9, 0): 7},
    ),
)


@check
def server_version(examination: Examination) -> Iterator[Finding]:
    """Check that the server's version is supported and still gets security fixes."""
    series: tuple[int, int] = tuple(client(examination.alias).server_info()["versionArray"][:2])
    version_text = ".".join(map(str, series))
    if series < OLDEST_VERSION:
        yield Finding(
            ERROR, "server-too-old", examination.alias, f"MongoDB {version_text} is not supported.", "Upgrade to 8.0."
        )
    elif (end := END_OF_LIFE.get(series)) and end < datetime.now(UTC):
        message = f"MongoDB {version_text} has had no security fixes since {end:%Y-%m-%d}."
        yield Finding(
            examination.for_production, "server-end-of-life", examination.alias, message, "Upgrade to 7.0 or 8.0."
        )


@check
def server_faults(examination: Examination) -> Iterator[Finding]:
    """Check that the server's version has no known bugs."""
    version = client(examination.alias).server_info()["versionArray"]
    for fault, fixed_version in known_faults(version):
        version_text = ".".join(map(str, version[:3]))
        message = f"MongoDB {version_text} has a known bug ({fault.name}): {fault.effect}."
        yield Finding(
            examination.for_production,
            "server-faulty",
            examination.alias,
            message,
            f"Upgrade to {fixed_version} or later.",
        )


def known_faults(version: list[int]) -> list[tuple[Fault, str]]:
    """Return the known bugs in `version` (such as [6, 0, 5, 0]), each with the first fixed version in its series."""
    series = (version[0], version[1])
    return [
        (fault, f"{series[0]}.{series[1]}.{fixed_version}")
        for fault in FAULTS
        if (fixed_version := fault.fixed_in.get(series)) is not None and version[2] < fixed_version
    ]


@check
def server_topology(examination: Examination) -> Iterator[Finding]:
    """Check that the site uses a mongos, or a replica set that keeps working if one member fails."""
    hello = client(examination.alias).admin.command("hello")
    if hello.get("msg") == "isdbgrid":
        return
    if "setName" not in hello:
        yield Finding(
            ERROR,
            "standalone",
            examination.alias,
            "This is a standalone server, which doesn't support transactions or retryable writes.",
            "Start it with --replSet and initiate the replica set.",
        )
        return
    members = len(hello["hosts"]) + len(hello.get("passives", ()))  # passive members can't become primary
    if members < MIN_MEMBERS:
        yield Finding(
            examination.for_production,
            "few-members",
            examination.alias,
            f"The replica set has {members} member{'s' if members > 1 else ''}, so writes stop when one fails.",
            "Add members until there are three, each on its own machine.",
        )
    members_status = status.members(examination.alias)
    for name in members_status.down if members_status else ():
        yield Finding(
            WARNING,
            "member-down",
            name,
            "This member of the replica set is not healthy.",
            "Run rs.status() in mongosh.",
        )


@check
def clocks(examination: Examination) -> Iterator[Finding]:
    """Check that the clocks of this machine and of the primary agree."""
    started = now()
    server_time = client(examination.alias).admin.command("hello")["localTime"].replace(tzinfo=UTC)
    skew = max((started - server_time).total_seconds(), (server_time - now()).total_seconds())
    if skew > MAX_SKEW_SECONDS:
        message = f"The clocks of this machine and MongoDB differ by {skew:,.0f} s."
        fix = "Synchronize the clocks of all machines, for example with chrony, then run the doctor again."
        yield Finding(ERROR, "clock-skewed", examination.alias, message, fix)


@check
def transport(examination: Examination) -> Iterator[Finding]:
    """Check that the server authenticates its clients and that the connection is encrypted."""
    options = client(examination.alias).options
    # pymongo doesn't expose the URI's user as an option, but passes the user to the connection pool as credentials.
    if options.pool_options._credentials is None:
        yield Finding(
            examination.for_production,
            "no-authentication",
            examination.alias,
            "The connection doesn't use authentication.",
            "Enable authentication, and set a user in MONGODB_URI.",
        )
    if not options._options.get("tls"):
        yield Finding(
            examination.for_production,
            "no-tls",
            examination.alias,
            "The connection is not encrypted.",
            "Install a certificate on the server, and add tls=true to MONGODB_URI.",
        )
