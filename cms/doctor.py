"""The doctor's check of the site's settings in production."""

from collections.abc import Iterator

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS

from marginalia.mongo.doctor import Examination, Finding, check

REFERENCE = "See docs/reference/settings.md."


@check
def site_settings(examination: Examination) -> Iterator[Finding]:
    """Report settings whose defaults are suitable for a local site but not for a public site."""
    if not examination.production or examination.alias != DEFAULT_DB_ALIAS:
        return
    level = examination.for_production
    key_file = settings.VAR_DIR / "secret_key"
    if key_file.is_file() and key_file.read_text().strip() == settings.SECRET_KEY:
        message = f"The site made a key for itself, in {key_file}: every other machine would make another."
        yield Finding(level, "no-key", "SECRET_KEY", message, "Set SECRET_KEY, the same on every machine.")
    if settings.LOCAL:
        message = "Only this machine itself is answered."
        yield Finding(level, "local-hosts", "ALLOWED_HOSTS", message, f"Name the site's hosts. {REFERENCE}")
    if str(settings.DATABASES[DEFAULT_DB_ALIAS]["HOST"]).startswith("embedded:"):
        message = "The site starts a MongoDB of its own: one process, one disk."
        yield Finding(level, "embedded-server", "MONGODB_URI", message, f"Name a replica set. {REFERENCE}")
    if not settings.SITE_URL:
        message = "Links in mails and feeds are made with whatever host a reader asked for."
        yield Finding(level, "no-site-url", "SITE_URL", message, f"Name the site's address. {REFERENCE}")
