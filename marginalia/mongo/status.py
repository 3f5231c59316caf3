"""The status of the MongoDB servers.

Each function returns None if the site's database user lacks the required permission, or if this kind of server has no
such status. If no server responds, the function raises PyMongoError.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bson import ObjectId
from django.db import DEFAULT_DB_ALIAS
from pymongo.database import Database
from pymongo.errors import OperationFailure

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, client, database
from marginalia.mongo.servers import is_outage

_PRIMARY = 1
_SECONDARY = 2
_ARBITER = 7
# Sections to leave out of the serverStatus response. They make up most of the response, and no function here uses them.
_WITHOUT_SECTIONS = dict.fromkeys(
    ("metrics", "wiredTiger", "tcmalloc", "locks", "transactions", "opLatencies", "repl"), 0
)
_SCRATCH = "_scratch_"
# The maximum length of the site's part of a scratch database's name. The server allows names of up to 63 bytes, and the
# id at the end of the name has 24 bytes.
_MAX_NAME_LENGTH = 63 - len(_SCRATCH) - 24
# If a scratch database is older than this, the command that created it is assumed to have been interrupted.
ABANDONED = timedelta(days=1)


@dataclass(frozen=True)
class Members:
    """The state of a replica set.

    Attributes:
        term: The election term of the current primary.
        down: The members that are down.
        lag: The replication lag of each secondary, in seconds. It is empty while there is no primary.
    """

    term: int
    down: tuple[str, ...]
    lag: Mapping[str, float]


@dataclass(frozen=True)
class Server:
    """The number of open connections to the primary, and the maximum number."""

    connections: int
    max_connections: int


@dataclass(frozen=True)
class Oplog:
    """The state of the oplog.

    Attributes:
        seconds: The number of seconds that the oplog covers.
        filled: The fraction of its maximum size that is in use, from 0 to 1.
    """

    seconds: float
    filled: float


@dataclass(frozen=True)
class Disk:
    """The total and free space, in bytes, on the disk that contains the database."""

    total: int
    free: int


def members(alias: str = DEFAULT_DB_ALIAS) -> Members | None:
    """Return the state of the replica set."""
    answer = _run_if_allowed(client(alias).admin, "replSetGetStatus")
    return parse_members(answer) if answer else None


def parse_members(answer: Mapping[str, Any]) -> Members:
    """Return the state of the replica set from a replSetGetStatus response."""
    states = {member["name"]: member["state"] for member in answer["members"]}
    newest = next((member["optimeDate"] for member in answer["members"] if member["state"] == _PRIMARY), None)
    lag = {
        member["name"]: max(0.0, (newest - member["optimeDate"]).total_seconds())
        for member in answer["members"]
        if newest is not None and member["state"] == _SECONDARY
    }
    down = tuple(name for name, state in states.items() if state not in (_PRIMARY, _SECONDARY, _ARBITER))
    return Members(int(answer["term"]), down, lag)


def server(alias: str = DEFAULT_DB_ALIAS) -> Server | None:
    """Return the number of connections to the primary or mongos."""
    answer = _run_if_allowed(client(alias).admin, "serverStatus", **_WITHOUT_SECTIONS)
    if answer is None:
        return None
    connections = answer["connections"]
    return Server(connections["current"], connections["current"] + connections["available"])


def oplog(alias: str = DEFAULT_DB_ALIAS) -> Oplog | None:
    """Return the state of the primary's oplog, or None for a mongos."""
    answer = _run_if_allowed(client(alias).admin, "serverStatus", oplog=1, **_WITHOUT_SECTIONS)
    stored = _run_if_allowed(client(alias).local, "collStats", "oplog.rs")
    if not answer or "oplog" not in answer or not stored or not stored.get("maxSize"):
        return None
    ends = answer["oplog"]
    seconds = ends["latestOptime"].time - ends["earliestOptime"].time
    return Oplog(seconds, min(1.0, stored["size"] / stored["maxSize"]))


def disk(alias: str = DEFAULT_DB_ALIAS) -> Disk | None:
    """Return the total and free space, in bytes, on the disk that contains the primary's data."""
    answer = _run_if_allowed(database(alias), "dbStats")
    if not answer or not answer.get("fsTotalSize"):
        return None
    return Disk(int(answer["fsTotalSize"]), int(answer["fsTotalSize"] - answer["fsUsedSize"]))


def _run_if_allowed(db: Database[Document], command: str, value: Any = 1, **arguments: Any) -> Document | None:
    try:
        return db.command(command, value, **arguments)
    except OperationFailure as error:
        if is_outage(error):
            raise
        return None


def scratch_prefix(own: str) -> str:
    """Return the prefix, without the id, of the names of scratch databases that commands create alongside `own`."""
    return f"{own[:_MAX_NAME_LENGTH]}{_SCRATCH}"


def abandoned_scratch_databases(alias: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Return the names of scratch databases that a command didn't delete because it was interrupted.

    Only databases that are visible to the site's database user and older than ABANDONED are listed.
    """
    begin = scratch_prefix(database(alias).name)
    before = now() - ABANDONED
    ids = {name: name.removeprefix(begin) for name in client(alias).list_database_names() if name.startswith(begin)}
    return sorted(name for name, id in ids.items() if ObjectId.is_valid(id) and ObjectId(id).generation_time < before)
