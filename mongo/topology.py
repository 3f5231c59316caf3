"""Whether a MongoDB of the operator's will do: a replica set or a mongos, new enough, within reach."""

import re
from typing import Any

from pymongo import MongoClient
from pymongo.errors import ConfigurationError, InvalidURI, OperationFailure, PyMongoError, ServerSelectionTimeoutError
from pymongo.uri_parser import parse_uri

from mongo.connection import first_clause

OLDEST = (6, 0)
AUTHENTICATION_FAILED = (13, 18)  # Unauthorized, AuthenticationFailed: src/mongo/base/error_codes.yml


class UnsuitableServer(Exception):
    """The database that a URI names cannot carry the site; the text is one sentence that says why."""


def check(uri: str, timeout: float = 5.0) -> str:
    """Return the addresses that `uri` names if a site can run there. Raises UnsuitableServer, never with the password.

    `timeout` is in seconds, for finding a server at all.
    """
    try:
        named = parse_uri(uri, connect_timeout=timeout)
    except (InvalidURI, ConfigurationError, ValueError) as error:
        raise UnsuitableServer(f"MONGODB_URI is not a MongoDB connection string: {error}") from error
    where = named["fqdn"] or ",".join(host if port is None else f"{host}:{port}" for host, port in named["nodelist"])
    try:
        reason = _reason(uri, int(timeout * 1000), single=len(named["nodelist"]) == 1)
    except ServerSelectionTimeoutError as error:
        reason = f"cannot be reached within {timeout:.0f} s: {first_clause(error)}"
    except OperationFailure as error:
        refused = error.code in AUTHENTICATION_FAILED
        reason = "refuses the user name or password of MONGODB_URI" if refused else f"answers: {first_clause(error)}"
    except ConfigurationError as error:  # a wire protocol that the driver no longer speaks
        reason = f"cannot be used: {first_clause(error)}"
    except PyMongoError as error:
        reason = f"does not work: {first_clause(error)}"
    if reason:
        raise UnsuitableServer(f"MongoDB at {where} {reason}.")
    return where


def _reason(uri: str, milliseconds: int, *, single: bool) -> str:
    # Where the URI names a replica set, the driver leaves a standalone out: a single server is asked without the name.
    asked = re.sub(r"(?i)(?<=[?&])replicaSet=[^&]*&?", "", uri) if single else uri
    direct: dict[str, Any] = {"directConnection": True} if single else {}
    with MongoClient[dict[str, Any]](asked, serverSelectionTimeoutMS=milliseconds, **direct) as client:
        if reason := unsuitable(client.admin.command("hello"), client.server_info()["versionArray"]):
            return reason
    with MongoClient[dict[str, Any]](uri, serverSelectionTimeoutMS=milliseconds) as client:
        client.admin.command("ping")  # goes to the primary: is there one, under a name that we can reach?
    return ""


def unsuitable(hello: dict[str, Any], version: list[int]) -> str:
    """What rules a server out, by its answers to hello and buildInfo; "" if nothing does."""
    if tuple(version[:2]) < OLDEST:
        return f"is version {'.'.join(map(str, version[:3]))}, and the site needs {'.'.join(map(str, OLDEST))} or later"
    if hello.get("msg") != "isdbgrid" and "setName" not in hello:
        return "is a standalone server, and the site needs a replica set or a mongos, for its transactions"
    return ""
