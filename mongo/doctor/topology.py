"""Which server answers, and whether it is one to trust with data."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from pymongo.errors import OperationFailure

from mongo.connection import client
from mongo.doctor.findings import ERROR, WARNING, Examination, Finding, check
from mongo.servers import OLDEST

# MongoDB's published ends of life, by release series.
END_OF_LIFE = {(6, 0): datetime(2025, 7, 31, tzinfo=UTC), (7, 0): datetime(2027, 8, 31, tzinfo=UTC)}
SAFE_MEMBERS = 3


@check
def server_version(examination: Examination) -> Iterator[Finding]:
    """Supported, and still getting security fixes."""
    series: tuple[int, int] = tuple(client(examination.alias).server_info()["versionArray"][:2])
    spelled = ".".join(map(str, series))
    if series < OLDEST:
        yield Finding(
            ERROR, "server-too-old", examination.alias, f"MongoDB {spelled} is not supported.", "Upgrade to 8.0."
        )
    elif (end := END_OF_LIFE.get(series)) and end < datetime.now(UTC):
        message = f"MongoDB {spelled} gets no more security fixes (since {end:%Y-%m-%d})."
        yield Finding(
            examination.for_production, "server-end-of-life", examination.alias, message, "Upgrade to 7.0 or 8.0."
        )


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
    members = len(hello["hosts"])
    if members < SAFE_MEMBERS:
        yield Finding(
            examination.for_production,
            "few-members",
            examination.alias,
            f"The replica set has {members} member{'s' if members > 1 else ''}: when one fails, writes stop.",
            "Add members until there are three, on machines of their own.",
        )
    for name in _unhealthy_members(examination):
        yield Finding(
            WARNING, "member-down", name, "This member of the replica set is not healthy.", "See rs.status()."
        )


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


def _unhealthy_members(examination: Examination) -> list[str]:
    try:
        status: dict[str, Any] = client(examination.alias).admin.command("replSetGetStatus")
    except OperationFailure:  # the site's user need not be allowed to ask
        return []
    return [
        member["name"] for member in status["members"] if member["stateStr"] not in ("PRIMARY", "SECONDARY", "ARBITER")
    ]
