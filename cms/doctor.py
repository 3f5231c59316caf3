"""The doctor's check for the site's settings in production."""

from collections.abc import Iterator

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS

from marginalia.mongo.doctor import Examination, Finding, check

REFERENCE = "See docs/reference/settings.md."


@check
def site_settings(examination: Examination) -> Iterator[Finding]:
    """Report settings that still have a default that is suitable only for a local site."""
    if not examination.production or examination.alias != DEFAULT_DB_ALIAS:
        return
    level = examination.for_production
    key_file = settings.VAR_DIR / "secret_key"
    if key_file.is_file() and key_file.read_text().strip() == settings.SECRET_KEY:
        message = f"SECRET_KEY was generated in {key_file}. Other machines would generate different keys."
        yield Finding(level, "no-key", "SECRET_KEY", message, "Set SECRET_KEY to the same value on every machine.")
    if settings.LOCAL:
        message = "ALLOWED_HOSTS allows requests only from this machine."
        yield Finding(
            level, "local-hosts", "ALLOWED_HOSTS", message, f"Set ALLOWED_HOSTS to the site's hosts. {REFERENCE}"
        )
    if str(settings.DATABASES[DEFAULT_DB_ALIAS]["HOST"]).startswith("embedded:"):
        message = "The site uses its embedded MongoDB: one process, one disk."
        yield Finding(
            level, "embedded-server", "MONGODB_URI", message, f"Set MONGODB_URI to a replica set. {REFERENCE}"
        )
    if not settings.SITE_URL:
        message = "SITE_URL is not set, so links in emails and feeds use the host of the request."
        yield Finding(level, "no-site-url", "SITE_URL", message, f"Set SITE_URL to the site's URL. {REFERENCE}")
