"""Settings that keep tests away from the site's data.

A site's settings module for tests uses both functions:

    import mysite
    from cms.testing.settings import prepare_environment, test_settings

    prepare_environment()

    from mysite.settings import *

    vars().update(test_settings(vars()))
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

# The name of the environment variable that contains the URI of the server shared by all workers of a test run.
URI = "TEST_MONGODB_URI"
# A placeholder URI at which no server listens, so connections fail immediately instead of using a real server. The
# pytest plugin replaces it.
NO_SERVER = "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=1"


def prepare_environment() -> None:
    """Set the environment variables for tests. Call this function before you import the site's settings.

    The tests write files only to a temporary folder, and don't use the site's database, hosts or DEBUG.
    """
    if "VAR_DIR" not in os.environ:
        os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix="marginalia-test-")
        # Only the process that created the folder deletes it, because workers and sites that tests start inherit the
        # variable.
        atexit.register(shutil.rmtree, os.environ["VAR_DIR"], ignore_errors=True)
    os.environ["MONGODB_URI"] = os.environ.get(URI, NO_SERVER)
    os.environ["MONGODB_DATABASE"] = os.environ.get("TEST_MONGODB_NAME", "marginalia")
    # If a variable is empty, the site's .env file doesn't replace it, and its default is used.
    os.environ["ALLOWED_HOSTS"] = os.environ["DEBUG"] = ""
    # Tests that start processes can set these variables.
    for name in ("SITE_URL", "BEHIND_PROXY", "CDN_PURGE_URLS", "EMAIL_URL"):
        os.environ.setdefault(name, "")


def test_settings(site: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that tests change, such as fast password hashes and emails that are kept in memory."""
    # If the folder is missing, whitenoise issues a warning for each test client.
    site["STATIC_ROOT"].mkdir(parents=True, exist_ok=True)
    default = site["DATABASES"]["default"]
    name = "test_" + default["NAME"].removeprefix("test_")
    return {
        "ALLOWED_HOSTS": ["testserver", "localhost", "127.0.0.1"],
        "PASSWORD_HASHERS": ["django.contrib.auth.hashers.MD5PasswordHasher"],
        "EMAIL_BACKEND": "django.core.mail.backends.locmem.EmailBackend",
        "STORAGES": {
            **site["STORAGES"],
            "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
        },
        "DATABASES": {**site["DATABASES"], "default": {**default, "TEST": {"NAME": name}}},
    }
