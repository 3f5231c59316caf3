"""The settings of `wagtail start` that its two APIs and its pages need, and the settings of django-comments-xtd.

Debug mode is off, so that templates are cached. Connections to SQLite stay open, and readers don't wait for writers.
"""

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
    "django_comments_xtd",
    "django_comments",
    "django.contrib.sites",
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
# If this is not 0, Django caches whole pages for this number of seconds in each process, without invalidation.
CACHE_MIDDLEWARE_SECONDS = int(os.environ.get("KEEP_SECONDS", "0"))
if CACHE_MIDDLEWARE_SECONDS:
    MIDDLEWARE = [
        "django.middleware.cache.UpdateCacheMiddleware",
        *MIDDLEWARE,
        "django.middleware.cache.FetchFromCacheMiddleware",
    ]
# The default limit is 300 responses.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 10_000}},
}
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["WAGTAIL_DATABASE"],
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "init_command": "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
        },
    }
}
SITE_ID = 1
COMMENTS_APP = "django_comments_xtd"
COMMENTS_XTD_CONFIRM_EMAIL = False
# This allows eight levels, as in our comments.
COMMENTS_XTD_MAX_THREAD_LEVEL = 7
# fill.py writes these migrations.
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

# cms/serving reads these settings, so that both sites are served in the same way.
VAR_DIR = Path(os.environ["VAR_DIR"])
WSGI_APPLICATION = "cms.wsgi.application"
WEB_CONCURRENCY = int(os.environ.get("WEB_CONCURRENCY", "1"))
REQUESTS_AT_ONCE = int(os.environ["REQUESTS_AT_ONCE"])
