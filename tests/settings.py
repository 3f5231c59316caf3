"""The site's settings for tests: no embedded server in var/, fast password hashes, emails kept in memory."""

import atexit
import os
import shutil
import tempfile

if "VAR_DIR" not in os.environ:
    os.environ["VAR_DIR"] = tempfile.mkdtemp(prefix="marginalia-test-")
    # Only in the process that created it, because workers and sites started by tests inherit the variable.
    atexit.register(shutil.rmtree, os.environ["VAR_DIR"], ignore_errors=True)
os.environ["MONGODB_URI"] = os.environ.get("TEST_MONGODB_URI", "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=1")
os.environ["MONGODB_DATABASE"] = os.environ.get("TEST_MONGODB_NAME", "marginalia")
# Not the theme of the developer who runs the tests, but an empty folder.
os.environ["THEME"] = tempfile.mkdtemp(prefix="theme-", dir=os.environ["VAR_DIR"])
os.environ.pop("ALLOWED_HOSTS", None)
os.environ.pop("DEBUG", None)

from cms.settings import *  # noqa: E402, F403
from cms.settings import DATABASES, STATIC_ROOT, STORAGES  # noqa: E402

ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
DATABASES["default"]["TEST"] = {"NAME": "test_" + os.environ["MONGODB_DATABASE"].removeprefix("test_")}
# whitenoise warns for each client if the folder is missing.
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
