"""What `wagtail start` writes, as far as its two APIs need it, without the debug mode; connections to SQLite stay open."""

import os
from pathlib import Path

INSTALLED_APPS = [
    "benchmarks.wagtail_site",
    "wagtail.api.v2",
    "wagtail.api.v3",
    "wagtail.contrib.redirects",
    "wagtail.embeds",
    "wagtail.sites",
    "wagtail.users",
    "wagtail.documents",
    "wagtail.images",
    "wagtail.search",
    "wagtail.admin",
    "wagtail",
    "modelcluster",
    "taggit",
    "django_filters",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "wagtail.contrib.redirects.middleware.RedirectMiddleware",
]
# With it, answers are kept so long in each process whatever changes: Django's cache of whole pages.
CACHE_MIDDLEWARE_SECONDS = int(os.environ.get("KEEP_SECONDS", "0"))
if CACHE_MIDDLEWARE_SECONDS:
    MIDDLEWARE = [
        "django.middleware.cache.UpdateCacheMiddleware",
        *MIDDLEWARE,
        "django.middleware.cache.FetchFromCacheMiddleware",
    ]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["WAGTAIL_DATABASE"], "CONN_MAX_AGE": None}
}
# Written by fill.py.
MIGRATION_MODULES = {"wagtail_site": "made_migrations"}
ROOT_URLCONF = "benchmarks.wagtail_site.urls"
ALLOWED_HOSTS = ["127.0.0.1"]
SECRET_KEY = "measured and thrown away"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
WAGTAIL_SITE_NAME = "Peer"
WAGTAILADMIN_BASE_URL = "http://127.0.0.1"

# Read by cms/serving: both sites are served alike.
VAR_DIR = Path(os.environ["VAR_DIR"])
SERVER = os.environ["SERVER"]
REQUESTS_AT_ONCE = int(os.environ["REQUESTS_AT_ONCE"])
PHOTOS = {"MAX_BYTES": 10_000_000}
