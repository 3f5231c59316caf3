"""The table of settings: the type, default and range of each variable, and rules for combinations of values.

docs/reference/settings.md explains the variables in the same order.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from django.http.request import validate_host
from pydantic import BaseModel, ConfigDict, Field

from cms.environment import values
from marginalia.mongo.uri import is_protected

# The folder with Marginalia's packages, templates, static files and translations.
SHIPPED_DIR = Path(__file__).resolve().parents[2]
# The site's folder, with .env, the theme and the var folder. In a clone of the repository, it is SHIPPED_DIR. A site
# that `marginalia start` has created sets MARGINALIA_SITE before this module is imported.
BASE_DIR = Path(os.environ.get("MARGINALIA_SITE") or SHIPPED_DIR)


class Environment(BaseModel):
    """The values of all variables. If a variable is empty, its default is used."""

    model_config = ConfigDict(frozen=True, validate_default=True)

    ALLOWED_HOSTS: values.Hosts = ["localhost", "127.0.0.1", "[::1]"]
    SITE_URL: values.Origin | None = None
    SECRET_KEY: str = ""
    DEBUG: bool = False
    PORT: int = Field(8_000, ge=1, le=65_535)
    VAR_DIR: values.Folder = BASE_DIR / "var"
    PROMETHEUS_MULTIPROC_DIR: values.WritableFolder | None = None
    THEME: str = "theme"
    DEMO: bool | None = None
    MONGODB_URI: values.MongodbUri | None = None
    MONGODB_DATABASE: values.DatabaseName = "marginalia"
    MONGODB_WRITE_CONCERN: values.WriteConcern = "majority"
    MONGODB_SELECTION_TIMEOUT_MS: int = Field(5_000, ge=100, le=60_000)
    MONGODB_CONNECT_TIMEOUT_MS: int = Field(5_000, ge=100, le=60_000)
    MONGODB_TIMEOUT_MS: int = Field(20_000, ge=100, le=600_000)
    MONGOD: str = ""
    WEB_CONCURRENCY: int | None = Field(None, ge=1, le=1_000)
    REQUESTS_AT_ONCE: int = Field(8, ge=1, le=512)
    PAGE_CACHE_MB: int = Field(64, ge=0, le=65_536)
    STALE_MINUTES: int = Field(60, ge=0, le=10_080)
    READ_SECONDARIES: bool = False
    CDN_PURGE_URLS: values.WebUrls = []
    CDN_PURGER: values.Importable = "reader.cdn.varnish"
    TEXT_MAX_KB: int = Field(1_000, ge=1, le=3_000)
    PHOTOS_MAX_MB: int = Field(200, ge=1, le=2_000)
    FILES_MAX_MB: int = Field(200, ge=1, le=20_000)
    PHOTOS_MAX_MEGAPIXELS: int = Field(120, ge=1, le=1_000)
    PHOTOS_KEEP_LOCATION: bool = False
    PHOTOS_GRACE_HOURS: int = Field(24, ge=0, le=8_760)
    LANGUAGE_CODE: Literal["en", "zh-hans"] = "en"
    TIME_ZONE: values.TimeZone = "UTC"
    EMAIL_URL: values.EmailUrl = "consolemail://"
    DEFAULT_FROM_EMAIL: values.Sender = "marginalia@localhost"
    MODERATORS: values.Emails = []
    BEHIND_PROXY: bool = False
    API_ORIGINS: values.OriginsOrAny = []
    API_READS_PER_MINUTE: int = Field(600, ge=1, le=100_000)
    API_WRITES_PER_MINUTE: int = Field(120, ge=1, le=100_000)
    API_CHANGES_DAYS: int = Field(90, ge=1, le=3_650)
    EMBED_ORIGINS: values.Origins = []
    EMBED_KEYS: values.SignOnKeys = []
    CSRF_TRUSTED_ORIGINS: values.Origins = []
    HSTS_SECONDS: int = Field(31_536_000, ge=0, le=315_360_000)
    HSTS_SUBDOMAINS: bool = False
    HSTS_PRELOAD: bool = False
    METRICS_NETWORKS: values.Networks = []
    METRICS_TOKEN: values.Token | None = None
    SLOW_COMMAND_MS: int = Field(200, ge=0, le=600_000)
    LOG_LEVEL: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"
    LOG_FORMAT: Literal["line", "json"] = "line"

    @property
    def is_local(self) -> bool:
        """Return whether ALLOWED_HOSTS makes the site available only on this machine."""
        return all(values.is_loopback(host) for host in self.ALLOWED_HOSTS)

    def contradictions(self) -> Iterator[str]:
        """Yield an error message for each combination of values that contradict each other."""
        if not self.is_local:
            yield from self._public_site_problems()
        if self.SITE_URL:
            parts = urlsplit(self.SITE_URL)
            host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
            if not validate_host(host, self.ALLOWED_HOSTS):
                yield (
                    f"SITE_URL has the host {host}, which isn't in ALLOWED_HOSTS. Links in emails "
                    "wouldn't work. Add the host."
                )
            if parts.scheme == "http" and not self.is_local:
                yield (
                    "SITE_URL must begin with https://, because a site that allows other machines redirects to HTTPS."
                )
        # If all of the following variables are set, as in a container, the site doesn't write to VAR_DIR.
        is_unused = self.SECRET_KEY and self.MONGODB_URI and self.PROMETHEUS_MULTIPROC_DIR
        if not is_unused and not values.is_writable(self.VAR_DIR):
            yield f"VAR_DIR must be a folder that this process can write to, unlike {self.VAR_DIR}."
        elif path := not self.PROMETHEUS_MULTIPROC_DIR and values.unwritable_path(self.VAR_DIR / "metrics"):
            yield f"VAR_DIR contains {path}, which this process can't write to. Give it to the site's user with chown."
        if (memory := values.memory_mb()) < 2 * self.PAGE_CACHE_MB:
            yield f"PAGE_CACHE_MB must be at most half of this machine's memory ({memory} MB), not {self.PAGE_CACHE_MB}."
        if "THEME" in self.model_fields_set and not (BASE_DIR / self.THEME).is_dir():
            yield f"THEME must be an existing folder, unlike {BASE_DIR / self.THEME}."
        if self.MONGODB_WRITE_CONCERN != "majority" and not self.MONGODB_URI:
            yield "MONGODB_WRITE_CONCERN needs MONGODB_URI, because the embedded server is a single member."
        if self.HSTS_PRELOAD and not self.HSTS_SUBDOMAINS:
            yield "HSTS_PRELOAD needs HSTS_SUBDOMAINS, because browsers' lists contain only whole domains."

    def _public_site_problems(self) -> Iterator[str]:
        if not self.SECRET_KEY or self.SECRET_KEY.startswith("replace-this"):
            yield (
                "SECRET_KEY is missing or still the example. Set your own, because ALLOWED_HOSTS allows other machines."
            )
        if self.DEBUG:
            yield "DEBUG is on, but ALLOWED_HOSTS allows other machines. Turn DEBUG off."
        if not is_protected(self.MONGODB_URI or ""):
            yield "MONGODB_URI has no user. Add one, because ALLOWED_HOSTS allows other machines."
        if not self.SITE_URL:
            yield (
                "SITE_URL is missing. Set it, because otherwise a request chooses the host of links "
                "in emails, such as password resets."
            )
        if values.email_settings(self.EMAIL_URL)["EMAIL_BACKEND"] == values.CONSOLE:
            yield (
                "EMAIL_URL is missing or consolemail://, so the log would contain password reset "
                "links. Set an email server, such as smtp+tls://user:password@mail.example.org:587, "
                "or dummymail:// to send no email."
            )
