"""Types for the values of environment variables.

Each check returns the value or raises a ValueError. The error message is appended to the variable's name.
"""

import base64
import importlib.util
import ipaddress
import os
import re
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import environ
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email
from django.http.request import split_domain_port
from pydantic import AfterValidator, BeforeValidator

from marginalia.mongo import uri

ANY = "*"
CONSOLE = environ.Env.EMAIL_SCHEMES["consolemail"]
SMTP = environ.Env.EMAIL_SCHEMES["smtp"]


def _host(value: str) -> str:
    if value != ANY and split_domain_port(value) != (value.lower(), ""):
        raise ValueError(
            f"must list hosts without scheme, port and path, such as example.org, .example.org or [::1], not {value!r}"
        )
    return value


def _origin(value: str) -> str:
    """Return an origin in the form that browsers send, without a trailing slash."""
    origin = value.rstrip("/")
    if not _is_origin(origin):
        raise ValueError(f"must be a scheme and a host, such as https://example.org, not {value!r}")
    return origin


def _is_origin(value: str) -> bool:
    try:
        parts = urlsplit(value)
        domain, port = split_domain_port(parts.netloc.replace("*.", "", 1))  # CSRF_TRUSTED_ORIGINS allows this wildcard
    except ValueError:
        return False
    return bool(domain) and value == f"{parts.scheme}://{parts.netloc}" and parts.scheme in ("http", "https")


def _origin_or_any(value: str) -> str:
    return value if value == ANY else _origin(value)


def _web_url(value: str) -> str:
    if urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname:
        raise ValueError(f"must list URLs that begin with https:// or http://, not {value!r}")
    return value


def _network(value: str) -> str:
    try:
        return str(ipaddress.ip_network(value))
    except ValueError as error:
        raise ValueError(f"must list networks such as 10.0.0.0/8, and {error}") from error


def _email(value: str) -> str:
    try:
        validate_email(value)
    except ValidationError as error:
        raise ValueError(f"must list email addresses such as ann@example.org, not {value!r}") from error
    return value


def _sender(value: str) -> str:
    try:
        validate_email(parseaddr(value)[1])
    except ValidationError as error:
        raise ValueError(
            f"must be an email address, such as Marginalia <editors@example.org>, not {value!r}"
        ) from error
    return value


def _time_zone(value: str) -> str:
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"must be a time zone such as Europe/Berlin, not {value!r}") from error


def _token(value: str) -> str:
    if len(value) < 20 or not value.isascii():
        raise ValueError("must have at least 20 ASCII characters, because a guessed token grants access")
    return value


def _sign_on_key(value: str) -> str:
    algorithm, _colon, key = value.partition(":")
    if algorithm == "HS256" and len(key) >= 32 and key.isascii():
        return value
    try:
        if algorithm == "EdDSA" and len(base64.b64decode(key, validate=True)) == 32:
            return value
    except ValueError:
        pass
    # Don't repeat the value, because it can contain a secret.
    raise ValueError(
        "must list keys such as HS256: and a secret of at least 32 ASCII characters, or EdDSA: and the 32 bytes of an "
        "Ed25519 public key in Base64"
    )


def _write_concern(value: str) -> str | int:
    if not re.fullmatch(r"[A-Za-z]\w*|[2-9]|[1-4][0-9]|50", value, re.ASCII):  # a replica set has at most 50 members
        raise ValueError(
            f"must be majority, a number from 2 to 50, or a mode of the replica set, not {value!r}, because writes that "
            "only one member has are lost when another becomes the primary"
        )
    return int(value) if value.isdigit() else value


def _database_name(value: str) -> str:
    if value.lower() in ("admin", "local", "config"):
        raise ValueError(f"must not be {value}, which belongs to MongoDB itself")
    if not re.fullmatch(r"[^/\\. \"$*<>:|?\0]+", value) or len(value.encode()) > 63:
        raise ValueError(
            f'must have at most 63 bytes and contain no spaces and none of / \\ . " $ * < > : | ?, not {value!r}'
        )
    return value


def _mongodb_uri(value: str) -> str:
    if problem := uri.problem(value):
        raise ValueError(problem)
    return value


def _email_url(value: str) -> str:
    try:
        settings = email_settings(value)
    except (ImproperlyConfigured, KeyError, ValueError) as error:
        schemes = ", ".join(environ.Env.EMAIL_SCHEMES)
        raise ValueError(
            "must be a URL such as smtp+tls://user:password@mail.example.org:587, with reserved characters "
            f"percent-encoded, of one of the kinds {schemes}"
        ) from error
    if settings["EMAIL_BACKEND"] == SMTP and not settings["EMAIL_HOST"]:
        raise ValueError("must contain an email server, such as smtp+tls://user:password@mail.example.org:587")
    return value


def email_settings(url: str) -> dict[str, Any]:
    """Return Django's EMAIL_* settings for a URL such as smtp+tls://user:password@mail.example.org:587."""
    return dict(environ.Env.email_url_config(url))


def _importable(value: str) -> str:
    module, _, name = value.rpartition(".")
    try:
        spec = name.isidentifier() and importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if not spec:
        raise ValueError(f"must be the dotted path of a function, and no module has the name {module!r}")
    return value


def is_writable(folder: Path) -> bool:
    """Return whether this process can write to a folder, or can create the folder."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def unwritable_path(folder: Path) -> Path | None:
    """Return a path that this process can't write to: the folder or a file in it. Return None if there is none."""
    if not is_writable(folder):
        return folder
    return next((path for path in folder.glob("*") if not os.access(path, os.W_OK)), None)


def memory_mb() -> int:
    """Return the size of this machine's memory in MB."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def _writable_folder(value: Path) -> Path:
    if not is_writable(value.absolute()):
        raise ValueError(f"must be a folder that this process can write to, unlike {value}")
    return value.absolute()


def is_loopback(host: str) -> bool:
    """Return whether an ALLOWED_HOSTS entry can refer only to this machine."""
    name = host.strip("[]")
    if name == "localhost" or name.endswith(".localhost"):
        return not host.startswith(".")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _split_list(value: Any) -> Any:
    """Split a comma-separated string into stripped items, and drop empty items. Return other values unchanged."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


_CommaSeparated = BeforeValidator(_split_list)

Hosts = Annotated[list[Annotated[str, AfterValidator(_host)]], _CommaSeparated]
Origin = Annotated[str, AfterValidator(_origin)]
Origins = Annotated[list[Origin], _CommaSeparated]
OriginsOrAny = Annotated[list[Annotated[str, AfterValidator(_origin_or_any)]], _CommaSeparated]
WebUrls = Annotated[list[Annotated[str, AfterValidator(_web_url)]], _CommaSeparated]
Networks = Annotated[list[Annotated[str, AfterValidator(_network)]], _CommaSeparated]
Emails = Annotated[list[Annotated[str, AfterValidator(_email)]], _CommaSeparated]
Sender = Annotated[str, AfterValidator(_sender)]
TimeZone = Annotated[str, AfterValidator(_time_zone)]
Token = Annotated[str, AfterValidator(_token)]
SignOnKeys = Annotated[list[Annotated[str, AfterValidator(_sign_on_key)]], _CommaSeparated]
WriteConcern = Annotated[str | int, BeforeValidator(_write_concern)]
DatabaseName = Annotated[str, AfterValidator(_database_name)]
MongodbUri = Annotated[str, AfterValidator(_mongodb_uri)]
EmailUrl = Annotated[str, AfterValidator(_email_url)]
Importable = Annotated[str, AfterValidator(_importable)]
Folder = Annotated[Path, AfterValidator(Path.absolute)]
WritableFolder = Annotated[Path, AfterValidator(_writable_folder)]
