"""Settings from the environment: what is local, what is refused, and by which name."""

import os
import subprocess
import sys
from pathlib import Path

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured

from cms.environment import (
    addresses,
    is_loopback,
    is_protected,
    kept_secret,
    listed,
    mongodb_uri,
    natural,
    networks,
    password,
    switch,
    web_addresses,
    web_origins,
    write_concern,
)

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCTION = {
    "ALLOWED_HOSTS": "example.org",
    "SECRET_KEY": "k9$" + "aB3dE6gH" * 8,
    "MONGODB_URI": "mongodb://site:secret@db.example.org/?replicaSet=rs0&tls=true",
    "SITE_URL": "https://example.org",
    "EMAIL_URL": "smtp+tls://site:secret@mail.example.org:587",
}


def check(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `manage.py check` with nothing but this environment."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", "check", *arguments],
        cwd=ROOT,
        env={**keep, "VAR_DIR": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.0.1", "[::1]", "site.localhost"])
def test_loopback_hosts(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["*", ".localhost", "example.org", "10.0.0.1", "[::]", "0.0.0.0", "localhost.example.org"]
)
def test_hosts_that_others_reach(host):
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("uri", "protected"),
    [
        ("mongodb://u:p@a,b,c/?replicaSet=x", True),
        ("mongodb+srv://u:p@a/db", True),
        ("mongodb://a,b/?authMechanism=MONGODB-X509&tls=true", True),
        ("mongodb://a,b/?replicaSet=x", False),
        ("mongodb://a/?appname=u@p", False),
        ("mongodb://@a/", False),
        ("", False),
    ],
)
def test_protected_database(uri, protected):
    assert is_protected(uri) is protected


def test_secret_is_made_once_and_for_its_owner_alone(tmp_path):
    path = tmp_path / "new" / "secret_key"
    assert kept_secret(path) == kept_secret(path)
    assert len(kept_secret(path)) >= 50
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["secret_key"]


def test_empty_secret_is_refused(tmp_path):
    (tmp_path / "secret_key").touch()
    with pytest.raises(ImproperlyConfigured, match="secret_key is empty"):
        kept_secret(tmp_path / "secret_key")


@pytest.mark.parametrize(("value", "on"), [("yes", True), ("1", True), ("off", False), ("False", False), ("", True)])
def test_switch(monkeypatch, value, on):
    monkeypatch.setenv("KNOB", value)
    assert switch(environ.Env(), "KNOB", default=True) is on


def test_bad_values_are_refused_by_name(monkeypatch):
    monkeypatch.setenv("KNOB", "maybe")
    for read in (
        lambda: switch(environ.Env(), "KNOB", default=True),
        lambda: natural(environ.Env(), "KNOB", default=1),
    ):
        with pytest.raises(ImproperlyConfigured, match="KNOB"):
            read()
    monkeypatch.setenv("KNOB", "-1")
    with pytest.raises(ImproperlyConfigured, match="KNOB"):
        natural(environ.Env(), "KNOB", default=1)
    for value in (
        "example.org",
        "https://example.org/app",
        "https://example.org?a",
        "https://",
        "*",
        "ftp://example.org",
    ):
        monkeypatch.setenv("KNOB", f"https://example.net,{value}")
        with pytest.raises(ImproperlyConfigured, match="KNOB"):
            web_origins(environ.Env(), "KNOB")
    monkeypatch.setenv("KNOB", "example.org")
    with pytest.raises(ImproperlyConfigured, match="KNOB"):
        web_addresses(environ.Env(), "KNOB")


def test_blanks_around_what_is_listed_mean_nothing(monkeypatch):
    assert listed(environ.Env(), "KNOB", default=["localhost"]) == ["localhost"]
    monkeypatch.setenv("KNOB", "example.org, www.example.org ,")
    assert listed(environ.Env(), "KNOB") == ["example.org", "www.example.org"]
    monkeypatch.setenv("KNOB", "https://a.example.org, https://b.example.org")
    assert web_origins(environ.Env(), "KNOB") == ["https://a.example.org", "https://b.example.org"]


def test_origins_are_as_browsers_send_them(monkeypatch):
    monkeypatch.setenv("KNOB", "https://a.example.org/, https://*.example.org,http://localhost:8000,*")
    wanted = ["https://a.example.org", "https://*.example.org", "http://localhost:8000", "*"]
    assert web_origins(environ.Env(), "KNOB", any_origin="*") == wanted
    # What is no origin may have a path.
    monkeypatch.setenv("KNOB", "http://127.0.0.1:6082/purge/")
    assert web_addresses(environ.Env(), "KNOB") == ["http://127.0.0.1:6082/purge/"]


def test_networks(monkeypatch):
    assert networks(environ.Env(), "KNOB") == []
    monkeypatch.setenv("KNOB", "10.0.0.0/8,192.0.2.7,2001:db8::/32")
    assert networks(environ.Env(), "KNOB") == ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"]
    for wrong in ("10.0.0.1/8", "10.0.0.0/33", "localhost", "10.0.0.0/8,*"):
        monkeypatch.setenv("KNOB", wrong)
        with pytest.raises(ImproperlyConfigured, match="KNOB"):
            networks(environ.Env(), "KNOB")


def test_addresses(monkeypatch):
    assert addresses(environ.Env(), "KNOB") == []
    monkeypatch.setenv("KNOB", "ann@example.org, bea@example.org")
    assert addresses(environ.Env(), "KNOB") == ["ann@example.org", "bea@example.org"]
    for wrong in ("ann", "ann@example.org,bea", "Ann <ann@example.org>"):
        monkeypatch.setenv("KNOB", wrong)
        with pytest.raises(ImproperlyConfigured, match="KNOB"):
            addresses(environ.Env(), "KNOB")


def test_a_password_is_none_or_long(monkeypatch):
    assert password(environ.Env(), "KNOB") == ""
    monkeypatch.setenv("KNOB", "t" * 20)
    assert password(environ.Env(), "KNOB") == "t" * 20
    for wrong in ("t" * 19, "ü" * 20):
        monkeypatch.setenv("KNOB", wrong)
        with pytest.raises(ImproperlyConfigured, match="KNOB") as refused:
            password(environ.Env(), "KNOB")
        assert wrong not in str(refused.value)


@pytest.mark.parametrize(("value", "read"), [("", "majority"), ("3", 3), ("twoDataCentres", "twoDataCentres")])
def test_write_concerns(monkeypatch, value, read):
    monkeypatch.setenv("KNOB", value)
    if not value:
        monkeypatch.delenv("KNOB")
    assert write_concern(environ.Env(), "KNOB") == read


@pytest.mark.parametrize("value", ["0", "1", "-1", "majority please", "2.5", "²"])
def test_write_concerns_that_lose_writes_are_refused_by_name(monkeypatch, value):
    monkeypatch.setenv("KNOB", value)
    with pytest.raises(ImproperlyConfigured, match="KNOB"):
        write_concern(environ.Env(), "KNOB")


@pytest.mark.parametrize(
    "option",
    ["readPreference=secondaryPreferred", "w=1", "journal=false", "RetryWrites=false", "retryReads=false", "w="],
)
def test_connection_strings_that_lose_writes_are_refused_by_option(monkeypatch, option):
    monkeypatch.setenv("KNOB", f"mongodb://a,b,c/?replicaSet=x&{option}&tls=true")
    with pytest.raises(ImproperlyConfigured, match=f"KNOB: {option.partition('=')[0]} must be "):
        mongodb_uri(environ.Env(), "KNOB")


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "mongodb://a/",
        "mongodb+srv://u:p@a/db?readPreference=primary&w=majority&journal=true&retryWrites=true&tls=true",
    ],
)
def test_other_connection_strings_are_left_as_they_are(monkeypatch, uri):
    monkeypatch.setenv("KNOB", uri)
    assert mongodb_uri(environ.Env(), "KNOB") == uri


def test_local_site_needs_nothing(tmp_path):
    done = check(tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "secret_key").is_file()


def test_production_settings_are_clean(tmp_path):
    done = check(tmp_path, "--deploy", "--fail-level", "WARNING", BEHIND_PROXY="on", **PRODUCTION)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "secret_key").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY is missing"),
        ({"SECRET_KEY": "replace-this-by-fifty-characters-that-no-one-can-guess-0123456789"}, "the example's"),
        ({"DEBUG": "on"}, "DEBUG is on"),
        ({"MONGODB_URI": ""}, "MONGODB_URI names no user"),
        ({"MONGODB_URI": "mongodb://db.example.org/?replicaSet=rs0"}, "MONGODB_URI names no user"),
        ({"DEBUG": "perhaps"}, "DEBUG must be on or off"),
        ({"MONGODB_TIMEOUT_MS": "soon"}, "MONGODB_TIMEOUT_MS must be a whole number"),
        ({"MONGODB_SELECTION_TIMEOUT_MS": "0"}, "MONGODB_SELECTION_TIMEOUT_MS must be 1 or more"),
        ({"MONGODB_CONNECT_TIMEOUT_MS": "-5"}, "MONGODB_CONNECT_TIMEOUT_MS must be 1 or more"),
        ({"MONGODB_WRITE_CONCERN": "1"}, "MONGODB_WRITE_CONCERN must be majority"),
        ({"MONGODB_URI": f"{PRODUCTION['MONGODB_URI']}&w=0"}, "MONGODB_URI: w must be majority"),
        ({"REQUESTS_AT_ONCE": "0"}, "REQUESTS_AT_ONCE must be 1 or more"),
        ({"PORT": "0"}, "PORT must be 1 or more"),
        ({"PORT": "99999"}, "PORT must be 65535 or less"),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT must be one of line, json"),
        ({"HSTS_PRELOAD": "on"}, "HSTS_PRELOAD needs HSTS_SUBDOMAINS"),
        ({"WEB_CONCURRENCY": "0"}, "WEB_CONCURRENCY must be 1 or more"),
        ({"EMAIL_URL": "nonsense://"}, "EMAIL_URL"),
        ({"EMAIL_URL": ""}, "EMAIL_URL"),
        ({"EMAIL_URL": "consolemail://"}, "EMAIL_URL is missing or consolemail://"),
        ({"SITE_URL": ""}, "SITE_URL is missing"),
        ({"TIME_ZONE": "Mars/Olympus"}, "TIME_ZONE"),
        ({"LOG_LEVEL": "LOUD"}, "LOG_LEVEL"),
        ({"LANGUAGE_CODE": "tlh"}, "LANGUAGE_CODE"),
    ],
)
def test_unfit_production_settings_are_refused(tmp_path, change, reason):
    done = check(tmp_path, **{**PRODUCTION, **change})
    assert done.returncode == 2
    assert reason in done.stderr
