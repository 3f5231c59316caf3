"""Functions that check MongoDB servers and interpret their errors.

A suitable server belongs to a replica set or is a mongos, runs a supported version, and is reachable.
"""

import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError
from pymongo import MongoClient
from pymongo.errors import (
    ConfigurationError,
    ConnectionFailure,
    InvalidURI,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
)
from pymongo.read_preferences import Primary, Secondary
from pymongo.topology_description import TopologyDescription
from pymongo.uri_parser import parse_uri

from marginalia.mongo.connection import UNAUTHORIZED, client, time_limit

logger = logging.getLogger(__name__)

OLDEST_VERSION = (6, 0)
# Error codes from src/mongo/base/error_codes.yml.
AUTHENTICATION_FAILED = 18
# Error codes for write concerns: UnknownReplWriteConcern and UnsatisfiableWriteConcern.
UNMET_WRITE_CONCERN_CODES = frozenset({79, 100})
# The number of seconds for which a new process looks for a primary before it reports an outage.
FIRST_SECONDS = 0.6


# Error codes of a server that is stopping or stepping down, or that can't reach enough members. The server may have
# written the document before the error: HostUnreachable, HostNotFound, WriteConcernFailed, NetworkTimeout,
# ShutdownInProgress, PrimarySteppedDown, ExceededTimeLimit, SocketException, LegacyNotPrimary, NotWritablePrimary,
# InterruptedAtShutdown, InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary.
TRANSIENT_CODES = frozenset({6, 7, 64, 89, 91, 189, 262, 9001, 10058, 10107, 11600, 11602, 13435, 13436})


class UnsuitableServer(Exception):
    """The database at a URI is unsuitable for the site. The message gives the reason in one sentence."""


def check(uri: str, timeout: float = 5.0) -> str:
    """Return the addresses in `uri` if a site can use the servers.

    Args:
        uri: The URI of a replica set or a mongos.
        timeout: How many seconds to look for a server.

    Raises:
        UnsuitableServer: The server is unsuitable or unreachable. The message never contains the password.
    """
    try:
        parsed = parse_uri(uri, connect_timeout=timeout)
    except (InvalidURI, ConfigurationError, ValueError) as error:
        raise UnsuitableServer(f"MONGODB_URI is not a MongoDB connection string: {error}") from error
    where = parsed["fqdn"] or ",".join(host if port is None else f"{host}:{port}" for host, port in parsed["nodelist"])
    try:
        reason = _refusal(uri, int(timeout * 1000), single=len(parsed["nodelist"]) == 1)
    except ServerSelectionTimeoutError as error:
        reason = f"cannot be reached within {timeout:.0f} s: {first_clause(error)}"
    except OperationFailure as error:
        refused = error.code in (UNAUTHORIZED, AUTHENTICATION_FAILED)
        reason = "refuses the username or password in MONGODB_URI" if refused else f"answers: {first_clause(error)}"
    except ConfigurationError as error:  # the server's wire protocol is too old for the driver
        reason = f"cannot be used: {first_clause(error)}"
    except PyMongoError as error:
        reason = f"does not work: {first_clause(error)}"
    if reason:
        raise UnsuitableServer(f"MongoDB at {where} {reason}.")
    return where


def _refusal(uri: str, milliseconds: int, *, single: bool) -> str:
    # If the URI contains the name of a replica set, the driver ignores standalone servers, so a single server is
    # contacted without the name.
    asked = re.sub(r"(?i)(?<=[?&])replicaSet=[^&]*&?", "", uri) if single else uri
    direct: dict[str, Any] = {"directConnection": True} if single else {}
    with MongoClient[dict[str, Any]](asked, serverSelectionTimeoutMS=milliseconds, **direct) as client:
        if reason := unsuitable_reason(client):
            return reason
    with MongoClient[dict[str, Any]](uri, serverSelectionTimeoutMS=milliseconds) as client:
        client.admin.command("ping")  # fails unless the primary is reachable at its configured address
    return ""


def unsuitable_reason(client: MongoClient[Any]) -> str:
    """Ask a server, and return why it is unsuitable, or "" if it is suitable."""
    return unsuitable(client.admin.command("hello"), client.server_info()["versionArray"])


def unsuitable(hello: dict[str, Any], version: list[int]) -> str:
    """Return why a server is unsuitable, judging by its responses to hello and buildInfo, or "" if it is suitable."""
    if tuple(version[:2]) < OLDEST_VERSION:
        found, oldest = (".".join(map(str, numbers)) for numbers in (version[:3], OLDEST_VERSION))
        return f"is version {found}, and Marginalia needs {oldest} or later"
    if hello.get("msg") != "isdbgrid" and "setName" not in hello:
        return "is a standalone server, and Marginalia needs a replica set or a mongos, for its transactions"
    return ""


def unmet_write_concern(database: Mapping[str, Any]) -> str:
    """Return an error message if MongoDB can't meet the write concern of an entry in DATABASES.

    Return "" if MongoDB can meet the write concern or doesn't respond. If MongoDB can't meet the write concern, every
    write raises an error, even though the data is stored. The check uses its own client, which is closed before
    processes fork.
    """
    w = database["OPTIONS"].get("w", "majority")
    if w == "majority":
        return ""
    milliseconds = int(FIRST_SECONDS * 1_000)
    try:
        limits: dict[str, Any] = {"timeoutMS": milliseconds, "serverSelectionTimeoutMS": milliseconds}
        with MongoClient[dict[str, Any]](database["HOST"], w=w, **limits) as client:
            client[database["NAME"]]["mongo.none"].delete_one({"_id": "none"})
    except PyMongoError as error:
        if getattr(error, "code", None) in UNMET_WRITE_CONCERN_CODES:
            return _describe_unmet_write_concern(error)
    return ""


def is_outage(error: BaseException | None) -> bool:
    """Return whether an exception means that the database can't be used.

    This is the case if the database is unreachable, rejects the login, can't meet the write concern, or doesn't respond
    in time. The exception's causes are also checked, because the ORM wraps the driver's exceptions.
    """
    while error is not None:
        if isinstance(error, ConnectionFailure) or getattr(error, "timeout", False) is True:
            return True
        if isinstance(error, OperationFailure) and error.code in (
            *TRANSIENT_CODES,
            *UNMET_WRITE_CONCERN_CODES,
            AUTHENTICATION_FAILED,
        ):
            return True
        error = error.__cause__ or error.__context__
    return False


def first_clause(error: BaseException) -> str:
    """Return the first clause of a driver error message, without the settings and the topology that follow it."""
    return str(error).split(", full error")[0].split(" (configured timeouts")[0].split(", Timeout:")[0]


def describe_outage(error: BaseException, alias: str = DEFAULT_DB_ALIAS) -> str:
    """Return one sentence that explains why MongoDB can't be used.

    Args:
        error: An exception for which `is_outage` returns True.
        alias: The alias of the connection. The sentence also describes the last known state of the connection's
            servers.
    """
    while not isinstance(error, PyMongoError) and (cause := error.__cause__ or error.__context__):
        error = cause
    if getattr(error, "code", None) in UNMET_WRITE_CONCERN_CODES:
        return _describe_unmet_write_concern(error)
    known = client(alias).topology_description
    if getattr(error, "code", None) == AUTHENTICATION_FAILED or _refuses_log_in(known):
        return "MongoDB refuses the username or password in MONGODB_URI."
    servers = {f"{host}:{port}": server for (host, port), server in known.server_descriptions().items()}
    if known.has_writable_server():
        return f"MongoDB doesn't answer: {first_clause(error)}."
    reached = {name: server.server_type_name for name, server in servers.items() if server.is_server_type_known}
    away = ", ".join(sorted(servers.keys() - reached.keys()))
    if known.replica_set_name and reached:
        states = ", ".join(f"{name} ({type})" for name, type in sorted(reached.items()))
        return (
            f"The replica set {known.replica_set_name} has no primary. Reached: {states}. Not "
            f"reached: {away or 'none'}. Start the missing members. A majority must run."
        )
    reasons = {name: first_clause(server.error) if server.error else "silent" for name, server in servers.items()}
    listed = "; ".join(f"{name}: {reason.removeprefix(f'{name}: ')}" for name, reason in sorted(reasons.items()))
    if "[SSL" in listed:
        return (
            f"The TLS connection to MongoDB failed. {listed}. Check tlsCAFile in MONGODB_URI and this machine's clock."
        )
    return f"MongoDB doesn't answer. {listed}."


def _describe_unmet_write_concern(error: BaseException) -> str:
    return f"MongoDB can't meet MONGODB_WRITE_CONCERN. It reports: {first_clause(error)}."


def report_outage(alias: str = DEFAULT_DB_ALIAS) -> None:
    """Log the reason if MongoDB isn't reachable within FIRST_SECONDS. Processes call this function at startup."""
    _give_up_at()
    try:
        with outage_after(FIRST_SECONDS, alias):
            client(alias).admin.command("ping")
    except (Outage, PyMongoError) as error:
        logger.error("%s", describe_outage(error, alias))


def is_cut_off() -> bool:
    """Return whether MongoDB rejects the login, or this process didn't find a primary within FIRST_SECONDS.

    A process that has already found a primary isn't considered cut off, because it has to wait only until an election
    has ended. A process that has never found a primary might have to wait for hours.
    """
    known = client().topology_description
    if _refuses_log_in(known):
        return True
    if known.max_election_id is not None or known.topology_type_name == "Sharded":
        return False
    left = _give_up_at() - time.monotonic()
    return left <= 0 or not primary_answers(seconds=left)


def _refuses_log_in(known: TopologyDescription) -> bool:
    """Return whether a server rejected the login.

    The driver's description of such a server contains the error, and its type is unknown until the next heartbeat.
    """
    return any(
        getattr(server.error, "code", None) == AUTHENTICATION_FAILED for server in known.server_descriptions().values()
    )


@cache
def _give_up_at() -> float:
    """Return the monotonic time at which this process stops looking for its first primary. The first call sets it."""
    return time.monotonic() + FIRST_SECONDS


def knows_primary() -> bool:
    """Return whether the driver knows of a server that accepts writes. The function doesn't send a command."""
    known = client().topology_description
    # This function is called for every page. Comparing the name is twice as fast as has_writable_server().
    return known.topology_type_name == "ReplicaSetWithPrimary" or known.has_writable_server()


def knows_secondary() -> bool:
    """Return whether the driver knows of a secondary. The function doesn't send a command."""
    return client().topology_description.has_readable_server(Secondary())


def primary_answers(*, seconds: float = 1.0) -> bool:
    """Return whether a primary currently accepts writes, after waiting at most `seconds`."""
    return bool(_hello(Primary(), seconds).get("isWritablePrimary"))


def secondary_answers(*, seconds: float = 1.0) -> bool:
    """Return whether a secondary currently responds to reads, after waiting at most `seconds`."""
    return bool(_hello(Secondary(), seconds).get("secondary"))


def _hello(preference: Primary | Secondary, seconds: float) -> dict[str, Any]:
    try:
        with time_limit(seconds):
            return client().admin.command("hello", read_preference=preference)
    except PyMongoError:
        return {}


class Outage(Exception):
    """The database is unreachable or didn't respond in time."""


@contextmanager
def outage_after(seconds: float, alias: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Limit the time for the database commands in a block to `seconds`.

    Raises:
        Outage: The database didn't respond in time.
    """
    try:
        with time_limit(seconds, alias):
            yield
    except (PyMongoError, DatabaseError) as error:
        if is_outage(error):
            raise Outage(f"no response within {seconds:g} s") from error
        raise
