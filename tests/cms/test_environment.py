"""Settings from the environment: local ones, invalid ones, and their messages."""

import os
import stat
from pathlib import Path
from unittest import mock

import pytest
from django.core.exceptions import ImproperlyConfigured

from cms.environment import values
from cms.environment.reading import misspelled, read_environment
from cms.environment.secret import load_or_create_secret
from cms.environment.table import Environment
from cms.environment.values import is_loopback
from marginalia.local.ports import free_port
from tests.support.site_settings import run_python

PRODUCTION = {
    "ALLOWED_HOSTS": "example.org,.example.org",
    "SECRET_KEY": "k9$" + "aB3dE6gH" * 8,
    "MONGODB_URI": "mongodb://site:secret@db.example.org/?replicaSet=rs0&tls=true",
    "SITE_URL": "https://example.org",
    "EMAIL_URL": "smtp+tls://site:secret@mail.example.org:587",
    "BEHIND_PROXY": "on",
}


@pytest.fixture
def settings_of(tmp_path):
    """Read settings only from these variables and the `.env` of the test's folder."""

    def read_these(**environment: str) -> Environment:
        with mock.patch.dict(os.environ, {"VAR_DIR": str(tmp_path / "var"), **environment}, clear=True):
            return read_environment(tmp_path / ".env")

    return read_these


@pytest.fixture
def refusal_of(settings_of):
    """Return the sentences that refuse these variables."""

    def refused(**environment: str) -> list[str]:
        with pytest.raises(ImproperlyConfigured) as raised:
            settings_of(**environment)
        return str(raised.value).splitlines()

    return refused


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.0.1", "[::1]", "site.localhost"])
def test_loopback_hosts_are_local(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["*", ".localhost", "example.org", "10.0.0.1", "[::]", "0.0.0.0", "localhost.example.org"]
)
def test_other_hosts_are_public(host):
    assert not is_loopback(host)


def test_secret_is_created_once_and_private(tmp_path):
    path = tmp_path / "new" / "secret_key"
    assert load_or_create_secret(path) == load_or_create_secret(path)
    assert len(load_or_create_secret(path)) >= 50
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["secret_key"]


def test_empty_secret_is_refused(tmp_path):
    (tmp_path / "secret_key").touch()
    with pytest.raises(ImproperlyConfigured, match="secret_key is empty"):
        load_or_create_secret(tmp_path / "secret_key")


def test_empty_variables_use_their_defaults(settings_of, tmp_path):
    names = Environment.model_fields.keys() - {"VAR_DIR"}
    assert settings_of(**dict.fromkeys(names, " ")) == settings_of()


@pytest.mark.parametrize(("value", "on"), [("yes", True), ("1", True), ("on", True), ("off", False), ("False", False)])
def test_switches_are_parsed(settings_of, value, on):
    assert settings_of(READ_SECONDARIES=value).READ_SECONDARIES is on


def test_lists_ignore_blanks_and_empty_parts(settings_of):
    assert settings_of(ALLOWED_HOSTS="localhost, 127.0.0.1 ,").ALLOWED_HOSTS == ["localhost", "127.0.0.1"]


def test_origins_are_normalized(settings_of):
    found = settings_of(
        API_ORIGINS="https://a.example.org/, http://localhost:8000,*",
        CSRF_TRUSTED_ORIGINS="https://*.example.org",
        SITE_URL="http://localhost/",
        CDN_PURGE_URLS="http://127.0.0.1:6082/purge/",
    )
    assert found.API_ORIGINS == ["https://a.example.org", "http://localhost:8000", "*"]
    assert found.CSRF_TRUSTED_ORIGINS == ["https://*.example.org"]
    assert found.SITE_URL == "http://localhost"
    assert found.CDN_PURGE_URLS == ["http://127.0.0.1:6082/purge/"]


def test_networks_without_a_size_are_single_addresses(settings_of):
    found = settings_of(METRICS_NETWORKS="10.0.0.0/8,192.0.2.7,2001:db8::/32")
    assert found.METRICS_NETWORKS == ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"]


@pytest.mark.parametrize(("value", "read"), [("", "majority"), ("3", 3), ("twoDataCentres", "twoDataCentres")])
def test_write_concerns_are_parsed(settings_of, value, read):
    found = settings_of(MONGODB_WRITE_CONCERN=value, MONGODB_URI="mongodb://127.0.0.1/?replicaSet=rs0")
    assert read == found.MONGODB_WRITE_CONCERN


@pytest.mark.parametrize(
    "uri",
    [
        "mongodb://a/",
        "mongodb+srv://u:p@a.example.org/db?readPreference=primary&w=majority&journal=true&retryWrites=true&tls=true",
        "mongodb://u:p%40ss%2Fword@a,b:27018/?authSource=admin",
    ],
)
def test_valid_connection_strings_are_unchanged(settings_of, uri):
    assert uri == settings_of(MONGODB_URI=uri).MONGODB_URI


# Each variable is refused, in addition to those missing for a public site, with a sentence that contains these words.
WRONG = [
    ({"ALLOWED_HOSTS": "https://example.org"}, "ALLOWED_HOSTS must list hosts without scheme"),
    ({"ALLOWED_HOSTS": "example.org:443"}, "ALLOWED_HOSTS must list hosts without scheme, port"),
    ({"ALLOWED_HOSTS": "*.example.org"}, "ALLOWED_HOSTS must list hosts"),
    ({"ALLOWED_HOSTS": "example.org/blog"}, "ALLOWED_HOSTS must list hosts"),
    ({"ALLOWED_HOSTS": "example.org."}, "ALLOWED_HOSTS must list hosts"),
    ({"ALLOWED_HOSTS": "::1"}, "ALLOWED_HOSTS must list hosts"),
    ({"ALLOWED_HOSTS": "bücher.example"}, "ALLOWED_HOSTS must list hosts"),
    ({"ALLOWED_HOSTS": "www.example.org"}, "SITE_URL has the host example.org, which isn't in ALLOWED_HOSTS"),
    ({"SITE_URL": ""}, "SITE_URL is missing"),
    ({"SITE_URL": "http://example.org"}, "SITE_URL must begin with https://"),
    ({"SITE_URL": "https://example.net:8443"}, "SITE_URL has the host example.net"),
    *(
        ({"SITE_URL": value}, "SITE_URL must be a scheme and a host")
        for value in (
            "example.org",
            "https://example.org/app",
            "https://example.org?a",
            "https://",
            "*",
            "ftp://example.org",
            "https://ann@example.org",
            "https://example.org:port",
        )
    ),
    ({"SECRET_KEY": ""}, "SECRET_KEY is missing"),
    ({"SECRET_KEY": "replace-this-by-fifty-characters-that-no-one-can-guess-0123456789"}, "still the example"),
    ({"DEBUG": "on"}, "DEBUG is on"),
    ({"DEBUG": "perhaps"}, "DEBUG must be on or off"),
    ({"PORT": "0"}, "PORT must be 1 or more"),
    ({"PORT": "99999"}, "PORT must be 65535 or less"),
    ({"PORT": "9" * 5000}, "PORT must be a smaller number"),
    ({"THEME": "no-such-folder"}, "THEME must be an existing folder"),
    ({"VAR_DIR": "/dev/null/var"}, "VAR_DIR must be a folder that this process can write to"),
    (
        {"PROMETHEUS_MULTIPROC_DIR": "/dev/null/counts"},
        "PROMETHEUS_MULTIPROC_DIR must be a folder that this process can write",
    ),
    ({"MONGODB_URI": ""}, "MONGODB_URI has no user"),
    ({"MONGODB_URI": "mongodb://db.example.org/?replicaSet=rs0"}, "MONGODB_URI has no user"),
    ({"MONGODB_URI": "mongodb://db.example.org/?appname=u@p"}, "MONGODB_URI has no user"),
    ({"MONGODB_URI": "mongodb://@db.example.org/"}, "MONGODB_URI"),
    ({"MONGODB_URI": "http://db.example.org/"}, "MONGODB_URI must begin with mongodb://"),
    *(
        ({"MONGODB_URI": uri}, "MONGODB_URI is not a valid connection string. Percent-encode @ : / ? and %")
        for uri in (
            "mongodb://site:pass@word@db.example.org/",
            "mongodb://site:pass/word@db.example.org/",
            "mongodb://site:pass:word@db.example.org/",
            "mongodb://site:pass%word@db.example.org/",
            "mongodb+srv://site:pass@word@db.example.org/",
        )
    ),
    *(
        (
            {"MONGODB_URI": f"mongodb://site:secret@db.example.org/?replicaSet=rs0&{option}&tls=true"},
            f"MONGODB_URI {words}",
        )
        for option, words in (
            ("readPreference=secondaryPreferred", "must set readPreference to primary"),
            ("w=0", "must set w to majority"),
            ("w=1", "must set w to majority"),
            ("w=", "must set w to majority"),
            ("journal=false", "must set journal to true"),
            ("RetryWrites=false", "must set RetryWrites to true"),
            ("retryReads=false", "must set retryReads to true"),
            ("nonsense=1", "is invalid: Unknown option: nonsense"),
            ("replicaset=other", "is invalid: Duplicate URI option 'replicaset'"),
            ("maxPoolSize=-3", "is invalid: The value of maxpoolsize must be"),
            ("tlsCAFile=/no/such/ca.pem", "refers to a file that can't be read: /no/such/ca.pem: No such file"),
            ("tlsCAFile=/dev/null", "refers to a file without a usable certificate"),
        )
    ),
    *(
        ({"MONGODB_DATABASE": name}, f"MONGODB_DATABASE must {words}")
        for name, words in (
            ("admin", "not be admin"),
            ("Local", "not be Local"),
            ("config", "not be config"),
            ("my site", "have at most 63 bytes"),
            ("a.b", "have at most 63 bytes"),
            ("a" * 64, "have at most 63 bytes"),
        )
    ),
    *(
        ({"MONGODB_WRITE_CONCERN": value}, "MONGODB_WRITE_CONCERN must be majority, a number from 2")
        for value in ("0", "1", "-1", "51", "majority please", "2.5", "²")
    ),
    ({"MONGODB_TIMEOUT_MS": "soon"}, "MONGODB_TIMEOUT_MS must be a whole number"),
    ({"MONGODB_TIMEOUT_MS": "1.5"}, "MONGODB_TIMEOUT_MS must be a whole number"),
    ({"MONGODB_TIMEOUT_MS": "86400000"}, "MONGODB_TIMEOUT_MS must be 600000 or less"),
    ({"MONGODB_SELECTION_TIMEOUT_MS": "0"}, "MONGODB_SELECTION_TIMEOUT_MS must be 100 or more"),
    ({"MONGODB_CONNECT_TIMEOUT_MS": "-5"}, "MONGODB_CONNECT_TIMEOUT_MS must be 100 or more"),
    ({"WEB_CONCURRENCY": "0"}, "WEB_CONCURRENCY must be 1 or more"),
    ({"REQUESTS_AT_ONCE": "0"}, "REQUESTS_AT_ONCE must be 1 or more"),
    ({"PAGE_CACHE_MB": "64000000"}, "PAGE_CACHE_MB must be 65536 or less"),
    ({"PAGE_CACHE_MB": "65000"}, "PAGE_CACHE_MB must be at most half of this machine's memory (1000 MB), not 65000"),
    ({"PHOTOS_MAX_MB": "0"}, "PHOTOS_MAX_MB must be 1 or more"),
    ({"CDN_PURGE_URLS": "example.org"}, "CDN_PURGE_URLS must list URLs"),
    ({"CDN_PURGER": "cms.serving.no_such.varnish"}, "CDN_PURGER must be the dotted path of a function"),
    ({"LANGUAGE_CODE": "tlh"}, "LANGUAGE_CODE must be 'en' or 'zh-hans', not 'tlh'"),
    ({"TIME_ZONE": "Mars/Olympus"}, "TIME_ZONE must be a time zone"),
    ({"EMAIL_URL": ""}, "EMAIL_URL is missing"),
    ({"EMAIL_URL": "consolemail://"}, "EMAIL_URL is missing or consolemail://"),
    ({"EMAIL_URL": "nonsense://"}, "EMAIL_URL must be a URL"),
    ({"EMAIL_URL": "smtp://site:pass/word@mail.example.org"}, "EMAIL_URL must be a URL"),
    ({"EMAIL_URL": "smtp+tls://"}, "EMAIL_URL must contain an email server"),
    ({"EMAIL_URL": "smtp://site:password@"}, "EMAIL_URL must contain an email server"),
    ({"DEFAULT_FROM_EMAIL": "Marginalia"}, "DEFAULT_FROM_EMAIL must be an email address"),
    *(
        ({"MODERATORS": value}, "MODERATORS must list email addresses")
        for value in ("ann", "ann@example.org,bea", "Ann <ann@example.org>")
    ),
    ({"API_ORIGINS": "https://example.net,example.org"}, "API_ORIGINS must be a scheme and a host"),
    ({"CSRF_TRUSTED_ORIGINS": "*"}, "CSRF_TRUSTED_ORIGINS must be a scheme and a host"),
    ({"HSTS_PRELOAD": "on"}, "HSTS_PRELOAD needs HSTS_SUBDOMAINS"),
    ({"HSTS_SECONDS": "-1"}, "HSTS_SECONDS must be 0 or more"),
    *(
        ({"METRICS_NETWORKS": value}, "METRICS_NETWORKS must list networks")
        for value in ("10.0.0.1/8", "10.0.0.0/33", "localhost", "10.0.0.0/8,*")
    ),
    ({"METRICS_TOKEN": "t" * 19}, "METRICS_TOKEN must have at least 20 ASCII characters"),
    *(
        ({"EMBED_KEYS": value}, "EMBED_KEYS must list keys")
        for value in ("x" * 40, "HS256:" + "x" * 31, "EdDSA:" + "x" * 44, "EdDSA:c2hvcnQ=", "RS256:" + "x" * 40)
    ),
    ({"METRICS_TOKEN": "ü" * 20}, "METRICS_TOKEN must have at least 20 ASCII characters"),
    ({"LOG_LEVEL": "LOUD"}, "LOG_LEVEL must be 'DEBUG', "),
    ({"LOG_FORMAT": "xml"}, "LOG_FORMAT must be 'line' or 'json', not 'xml'"),
    ({"MONGODB_URL": "mongodb://a/"}, "MONGODB_URL is not a setting. Did you mean MONGODB_URI?"),
    ({"allowed_hosts": "a"}, "allowed_hosts is not a setting. Did you mean ALLOWED_HOSTS?"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_invalid_setting_is_refused_with_one_sentence(refusal_of, monkeypatch, change, words):
    monkeypatch.setattr(values, "memory_mb", lambda: 1_000)
    [sentence] = refusal_of(**{**PRODUCTION, **change})
    assert words in sentence
    for secret in ("pass@", "word@", "secret@", "t" * 19, "ü" * 20):
        assert secret not in sentence.replace("user:password@", "")


def test_all_invalid_settings_are_listed_at_once(refusal_of):
    refused = refusal_of(PORT="0", DEBUG="perhaps", MODERATORS="ann,bea", SITE_URI="https://example.org")
    assert [sentence.split()[0] for sentence in refused] == ["SITE_URI", "DEBUG", "PORT", "MODERATORS", "MODERATORS"]
    assert all(sentence.endswith((".", "?")) for sentence in refused)


def test_embedded_server_has_no_other_members(refusal_of):
    assert refusal_of(MONGODB_WRITE_CONCERN="2") == [
        "MONGODB_WRITE_CONCERN needs MONGODB_URI, because the embedded server is a single member."
    ]


def test_variables_of_other_programs_are_not_misspellings():
    others = (
        "PATH HOME LANGUAGE HOST HOSTNAME EMAIL EDITOR TERM DATABASE_URL SECRET_KEY_BASE SERVER_PORT REPORT GTK_THEME "
        "MONGODB_PORT MONGODB_SERVICE_HOST MONGO_INITDB_DATABASE TEST_MONGODB_URI MIRROR_TOKEN CDN_TOKEN LISTEN_FDS"
    )
    assert list(misspelled(others.split())) == []


@pytest.mark.parametrize("missing", ["SECRET_KEY", "MONGODB_URI", "PROMETHEUS_MULTIPROC_DIR"])
def test_site_writes_no_files_if_everything_is_elsewhere(settings_of, refusal_of, tmp_path, missing):
    own = {"SECRET_KEY": "of-a-test", "MONGODB_URI": "mongodb://a/", "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    own["VAR_DIR"] = "/dev/null/var"
    assert settings_of(**own)
    del own[missing]
    assert refusal_of(**own) == ["VAR_DIR must be a folder that this process can write to, unlike /dev/null/var."]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_folder_without_write_permission_is_refused(refusal_of, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    [sentence] = refusal_of(VAR_DIR=str(tmp_path / "closed" / "var"))
    assert sentence.startswith("VAR_DIR must be a folder that this process can write to")


def test_metrics_of_another_user_are_refused(settings_of, refusal_of, monkeypatch, tmp_path):
    counts = tmp_path / "var" / "metrics" / "0.lock"
    counts.parent.mkdir(parents=True)
    counts.touch()
    assert settings_of()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != counts and access(path, mode))
    assert refusal_of()[0].startswith(f"VAR_DIR contains {counts}, which this process can't write to.")
    assert settings_of(PROMETHEUS_MULTIPROC_DIR=str(tmp_path))


class TestFile:
    def write(self, tmp_path: Path, text: str | bytes, mode: int = 0o600) -> Path:
        file = tmp_path / ".env"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        file.chmod(mode)
        return file

    def test_environment_takes_precedence_over_the_file(self, settings_of, tmp_path):
        self.write(tmp_path, "# the port\n\nPORT=9000\nexport STALE_MINUTES=5\nTIME_ZONE='Europe/Berlin'\n")
        found = settings_of(PORT="9001")
        assert (found.PORT, found.STALE_MINUTES, found.TIME_ZONE) == (9001, 5, "Europe/Berlin")

    def test_misspelled_name_is_refused(self, refusal_of, tmp_path):
        self.write(tmp_path, "ALLOWED_HOST=example.org\nCDN_TOKEN=of-a-purger\n")
        assert refusal_of() == ["ALLOWED_HOST is not a setting. Did you mean ALLOWED_HOSTS?"]

    def test_line_without_a_variable_is_refused_by_number(self, refusal_of, tmp_path):
        file = self.write(tmp_path, "PORT=9000\nSECRET_KEY = my secret\n")
        assert refusal_of() == [f"{file} has an invalid line 2. Write NAME=value."]

    def test_world_readable_file_of_a_public_site_is_refused(self, settings_of, refusal_of, tmp_path):
        file = self.write(tmp_path, "PORT=9000\n", mode=0o644)
        assert settings_of().PORT == 9000
        assert refusal_of(**PRODUCTION) == [f"{file} can be read by every user of this machine. Run chmod 600 {file}."]
        file.chmod(0o640)
        assert not stat.S_IMODE(file.stat().st_mode) & stat.S_IROTH
        assert settings_of(**PRODUCTION).PORT == 9000

    def test_binary_file_is_refused(self, refusal_of, tmp_path):
        file = self.write(tmp_path, b"PORT=9000\xff\n")
        [sentence] = refusal_of()
        assert sentence.startswith(f"{file} can't be read: ")


def test_local_site_needs_no_settings(tmp_path):
    done = run_python({"VAR_DIR": str(tmp_path)}, "manage.py", "check")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "secret_key").is_file()


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("debug", "size"), [("on", 0), ("off", 64 * 1024 * 1024)])
def test_debug_caches_no_pages(tmp_path, debug, size):
    environment = {"VAR_DIR": str(tmp_path), "DEBUG": debug, "PAGE_CACHE_MB": "64"}
    done = run_python(environment, "-c", "from cms.settings import PAGE_CACHE_BYTES; print(PAGE_CACHE_BYTES)")
    assert done.stdout == f"{size}\n", done.stderr


def test_production_settings_are_clean(tmp_path):
    environment = {"VAR_DIR": str(tmp_path), **PRODUCTION}
    done = run_python(environment, "manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "secret_key").exists()


CHECK = ["manage.py", "check", "--deploy"]
SERVE = ["manage.py", "serve"]
GUNICORN = ["-m", "gunicorn", "--bind", "127.0.0.1:0"]
COMMANDS = pytest.mark.parametrize("command", [CHECK, SERVE, GUNICORN], ids=["check", "serve", "gunicorn"])


@pytest.mark.slow
@COMMANDS
def test_impossible_write_concern_stops_every_command(tmp_path, command):
    own = {"MONGODB_URI": os.environ["TEST_MONGODB_URI"], "MONGODB_WRITE_CONCERN": "7", "PORT": str(free_port())}
    done = run_python({"VAR_DIR": str(tmp_path), **own}, *command)
    assert done.returncode == 2
    sentence = "MongoDB can't meet MONGODB_WRITE_CONCERN. It reports: Not enough data-bearing nodes."
    assert done.stderr.splitlines()[-1].removeprefix("CommandError: ") == sentence


@pytest.mark.slow_after(2)
@COMMANDS
def test_invalid_settings_stop_every_command(tmp_path, command):
    done = run_python({"VAR_DIR": str(tmp_path), "PORT": "0", "MODERATORS": "ann"}, *command)
    assert done.returncode == 2
    assert done.stderr == (
        "The settings are invalid: PORT must be 1 or more, not 0.\n"
        "MODERATORS must list email addresses such as ann@example.org, not 'ann'.\n"
    )
