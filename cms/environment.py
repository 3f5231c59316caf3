"""What the environment says, checked: a bad value is refused by the name of its variable."""

import contextlib
import ipaddress
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import environ
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email


def is_loopback(host: str) -> bool:
    """Return whether an ALLOWED_HOSTS entry can only mean this machine."""
    bare = host.strip("[]")
    if bare == "localhost" or bare.endswith(".localhost"):
        return not host.startswith(".")
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def is_protected(uri: str) -> bool:
    """Return whether a MongoDB URI says who connects: a user, or a client certificate."""
    user = uri.partition("://")[2].partition("/")[0].rpartition("@")[0].partition(":")[0]
    return bool(user) or "authmechanism=mongodb-x509" in uri.lower()


def kept_secret(path: Path, *, size: int = 50) -> str:
    """Return the secret kept in `path`, made of `size` random bytes at the first call, readable by its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(size))
        with contextlib.suppress(FileExistsError):  # another process was first: its key holds
            os.link(draft, path)
        draft.unlink()
    secret = path.read_text().strip()
    if not secret:
        raise ImproperlyConfigured(f"{path} is empty: delete it, and a new one is made.")
    return secret


def switch(env: environ.Env, name: str, *, default: bool) -> bool:
    """Return the variable `name` as a bool; ImproperlyConfigured names it if it is neither yes nor no."""
    value = env.str(name, default="").strip().lower()
    if not value:
        return default
    if value in env.BOOLEAN_TRUE_STRINGS:
        return True
    if value in ("false", "off", "no", "n", "0"):
        return False
    raise ImproperlyConfigured(f"{name} must be on or off, not {value!r}.")


def natural(env: environ.Env, name: str, *, default: int, least: int = 0, most: int | None = None) -> int:
    """Return the variable `name` as an int from `least` to `most`; ImproperlyConfigured names it if it is none."""
    try:
        value = env.int(name, default=default)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a whole number.") from error
    if value < least:
        raise ImproperlyConfigured(f"{name} must be {least} or more.")
    if most is not None and value > most:
        raise ImproperlyConfigured(f"{name} must be {most} or less.")
    return int(value)


def one_of(env: environ.Env, name: str, choices: Sequence[str], *, default: str) -> str:
    """Return the variable `name`, which must be one of `choices`; ImproperlyConfigured names it if it is none."""
    value = env.str(name, default=default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    return str(value)


def listed(env: environ.Env, name: str, *, default: Sequence[str] = ()) -> list[str]:
    """Return the values of the variable `name`, which commas separate and blanks may stand around."""
    return [value.strip() for value in env.list(name, default=list(default)) if value.strip()]


def time_zone(env: environ.Env, name: str, *, default: str) -> str:
    """Return the variable `name`, which must name a time zone; ImproperlyConfigured names it if it does not."""
    value: str = env.str(name, default=default)
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ImproperlyConfigured(f"{name}: {value!r} is no time zone such as Europe/Berlin.") from error


def networks(env: environ.Env, name: str) -> list[str]:
    """Return the variable `name` as a list of networks such as 10.0.0.0/8; ImproperlyConfigured names it if one is none."""
    found = []
    for value in listed(env, name):
        try:
            found.append(str(ipaddress.ip_network(value)))
        except ValueError as error:
            raise ImproperlyConfigured(f"{name}: {value!r} is no network such as 10.0.0.0/8: {error}.") from error
    return found


def addresses(env: environ.Env, name: str) -> list[str]:
    """Return the variable `name` as a list of e-mail addresses; ImproperlyConfigured names it if one is none."""
    found = listed(env, name)
    for value in found:
        try:
            validate_email(value)
        except ValidationError as error:
            raise ImproperlyConfigured(f"{name}: {value!r} is no e-mail address.") from error
    return found


def password(env: environ.Env, name: str, *, least: int = 20) -> str:
    """Return the variable `name`, nothing or `least` characters and more; ImproperlyConfigured names it otherwise."""
    value = str(env.str(name, default=""))
    if value and (len(value) < least or not value.isascii()):
        raise ImproperlyConfigured(
            f"{name} must have {least} characters or more, ASCII only: who guesses it is let in."
        )
    return value


def write_concern(env: environ.Env, name: str) -> str | int:
    """Return the variable `name`, how many members must have a write before it is acknowledged: "majority", a number from 2,
    or a mode that the replica set's configuration defines; ImproperlyConfigured names it otherwise."""
    value = str(env.str(name, default="majority"))
    if not re.fullmatch(r"[A-Za-z]\w*|[2-9]|[1-9][0-9]", value):
        raise ImproperlyConfigured(
            f"{name} must be majority, a number from 2, or a mode of the replica set, not {value!r}: "
            "what fewer members have is lost when another becomes the primary."
        )
    return int(value) if value[0].isdigit() else value


# What the site rests on, by option of a connection string (lower case): the value that it may have, and why.
_NEEDED_OF_URI = {
    "readpreference": ("primary", "a secondary may not have yet what was acknowledged"),
    "retrywrites": ("true", "a write is sent again after a change of primary"),
    "retryreads": ("true", "a read is sent again after a change of primary"),
    "journal": ("true", "a write that is only in memory dies with the machine"),
    "w": ("majority", "MONGODB_WRITE_CONCERN says how many members must have a write"),
}


def mongodb_uri(env: environ.Env, name: str) -> str:
    """Return the variable `name`; ImproperlyConfigured names it if it asks for what loses acknowledged writes."""
    uri = str(env.str(name, default=""))
    for option, value in parse_qsl(uri.partition("?")[2].replace(";", "&"), keep_blank_values=True):
        wanted, reason = _NEEDED_OF_URI.get(option.lower(), (value, ""))
        if value.lower() != wanted.lower():
            raise ImproperlyConfigured(f"{name}: {option} must be {wanted}, not {value!r}: {reason}.")
    return uri


def mail(env: environ.Env, name: str, *, default: str, console: bool) -> dict[str, object]:
    """Return the mail settings (EMAIL_HOST and so on) that the variable `name` spells as a URL.

    Unless `console`, mail that goes to the log is refused. ImproperlyConfigured names the variable.
    """
    try:
        found = dict(env.email_url(name, default=default))
    except (ImproperlyConfigured, KeyError, ValueError) as error:
        known = ", ".join(env.EMAIL_SCHEMES)
        raise ImproperlyConfigured(f"{name} must be a URL of one of the kinds {known}.") from error
    if not console and found["EMAIL_BACKEND"] == env.EMAIL_SCHEMES["consolemail"]:
        raise ImproperlyConfigured(
            f"{name} is missing or consolemail://: the log would keep links for new passwords. Name a mail server, such as "
            "smtp+tls://user:password@mail.example.org:587, or dummymail:// to send none."
        )
    return found


def web_addresses(env: environ.Env, name: str) -> list[str]:
    """Return the variable `name` as a list of addresses such as http://127.0.0.1:6082; ImproperlyConfigured names it if one is
    none."""
    found = listed(env, name)
    for value in found:
        if urlsplit(value).scheme not in ("http", "https"):
            raise ImproperlyConfigured(f"{name}: {value!r} must begin with https:// or http://.")
    return found


def web_origins(env: environ.Env, name: str, *, any_origin: str = "") -> list[str]:
    """Return the variable `name` as a list of origins such as https://example.org; `any_origin` may stand for any of them.
    ImproperlyConfigured names it if one is none."""
    return [value if value == any_origin else _origin(name, value) for value in listed(env, name)]


def web_origin(env: environ.Env, name: str) -> str:
    """Return the variable `name`, an origin such as https://example.org or nothing; ImproperlyConfigured names it otherwise."""
    value = str(env.str(name, default=""))
    return value and _origin(name, value)


def _origin(name: str, value: str) -> str:
    """Return an origin without the slash that may end it: as browsers send it, or ImproperlyConfigured is raised."""
    value = value.rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or value != f"{parts.scheme}://{parts.netloc}" or not parts.hostname:
        raise ImproperlyConfigured(f"{name} must be a scheme and a host, such as https://example.org, not {value!r}.")
    return value
