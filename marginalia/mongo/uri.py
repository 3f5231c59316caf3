"""Checks of connection strings. The checks run before any connection is made."""

import ssl
import warnings
from typing import Any
from urllib.parse import parse_qsl

from pymongo import MongoClient
from pymongo.errors import ConfigurationError, InvalidURI

# Connection options that the site requires: the name in lower case, the only allowed value, and the reason.
_REQUIRED_OPTIONS = {
    "readpreference": ("primary", "a secondary may not have acknowledged data yet"),
    "retrywrites": ("true", "a write is sent again after a change of primary"),
    "retryreads": ("true", "a read is sent again after a change of primary"),
    "journal": ("true", "a write that is only in memory is lost if the machine fails"),
    "w": ("majority", "MONGODB_WRITE_CONCERN sets how many members must have a write"),
}


def is_protected(uri: str) -> bool:
    """Return whether a MongoDB URI contains credentials (a username or a client certificate)."""
    user = uri.partition("://")[2].partition("/")[0].rpartition("@")[0].partition(":")[0]
    return bool(user) or "authmechanism=mongodb-x509" in uri.lower()


def problem(uri: str) -> str:
    """Return why a MongoDB URI can't be used, or "" if it can.

    The reason is worded as the end of a sentence that begins with the name of the setting. The reason never contains
    the password. The function doesn't contact a server, but it reads the files that the URI refers to.
    """
    if not uri.startswith(("mongodb://", "mongodb+srv://")):
        return "must begin with mongodb:// or mongodb+srv://"
    for option, value in parse_qsl(uri.partition("?")[2].replace(";", "&"), keep_blank_values=True):
        wanted, reason = _REQUIRED_OPTIONS.get(option.lower(), (value, ""))
        if value.lower() != wanted.lower():
            return f"must set {option} to {wanted}, not {value!r}, because {reason}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # by default, the driver only warns about unknown options
            MongoClient[dict[str, Any]](uri, connect=False).close()
    except (InvalidURI, ValueError) as error:
        # If a "/" in the password isn't encoded, the driver treats part of the password as the database name and quotes
        # it in its message.
        message = "" if "database name" in str(error) else f" The driver reports: {error}"
        return (
            f"is not a valid connection string. Percent-encode @ : / ? and % in the username and password.{message}"
        ).rstrip(".")
    except ssl.SSLError as error:
        return f"refers to a file without a usable certificate: {error.reason}"
    except OSError as error:
        return f"refers to a file that can't be read: {error.filename}: {error.strerror}"
    except (ConfigurationError, Warning) as error:
        return f"is invalid: {str(error).partition(' Refer to')[0]}".rstrip(".")
    return ""
