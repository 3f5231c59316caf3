"""The settings module. Values that differ between sites are read from the environment (docs/reference/settings.md)."""

from csp.constants import NONCE
from django.utils.translation import gettext_lazy as _

from cms.environment.reading import read_environment
from cms.environment.secret import load_or_create_secret
from cms.environment.table import BASE_DIR, SHIPPED_DIR
from cms.environment.values import email_settings
from cms.shell_imports import IMPORTS
from marginalia.local import cores

env = read_environment(BASE_DIR / ".env")

VAR_DIR = env.VAR_DIR

# The folder for a site's own templates and static files, which override the built-in ones
# (docs/how-to/change-the-look.md).
THEME_DIR = BASE_DIR / env.THEME

# The port that `manage.py serve` (`make run`) uses.
PORT = env.PORT
# Number of worker processes that the web server starts.
WEB_CONCURRENCY = env.WEB_CONCURRENCY or cores.default_workers()

# The site's hosts. If LOCAL is true, some settings have defaults that are safe only on a machine without other users.
ALLOWED_HOSTS = env.ALLOWED_HOSTS
LOCAL = env.is_local
# The origin of URLs in emails, feeds, sitemaps and link previews. A local site without SITE_URL uses the host of the
# request.
SITE_URL = env.SITE_URL or ""
DEBUG = env.DEBUG
SECRET_KEY = env.SECRET_KEY or load_or_create_secret(VAR_DIR / "secret_key")
DEMO = LOCAL if env.DEMO is None else env.DEMO

DATABASES = {
    "default": {
        "ENGINE": "cms.database",
        "NAME": env.MONGODB_DATABASE,
        "HOST": env.MONGODB_URI or f"embedded:{VAR_DIR}",
        # docs/reference/settings.md explains each of these options. A MONGODB_URI with different values is rejected.
        "OPTIONS": {
            "retryWrites": True,
            "retryReads": True,
            "w": env.MONGODB_WRITE_CONCERN,
            "journal": True,
            "readPreference": "primary",
            "serverSelectionTimeoutMS": env.MONGODB_SELECTION_TIMEOUT_MS,
            "timeoutMS": env.MONGODB_TIMEOUT_MS,
            "connectTimeoutMS": env.MONGODB_CONNECT_TIMEOUT_MS,
            "heartbeatFrequencyMS": 2_000,
            "appname": "marginalia",
        },
        "CONN_MAX_AGE": None,
    }
}
DATABASE_ROUTERS = ["django_mongodb_backend.routers.MongoRouter"]
DEFAULT_AUTO_FIELD = "django_mongodb_backend.fields.ObjectIdAutoField"

INSTALLED_APPS = [
    "cms",
    "api",
    "wordpress",
    "transfer",
    "editor",
    "reader",
    "photos",
    "nodes",
    "marginalia.comments",
    "marginalia.tasks",
    "marginalia.mongo",
    "cms.contrib.apps.AdminConfig",
    "cms.contrib.apps.AuthConfig",
    "cms.contrib.apps.ContentTypesConfig",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_mongodb_backend",
]
# The project has its own migrations for some of Django's apps, because Django's migrations create integer keys.
MIGRATION_MODULES = {
    "admin": "cms.contrib.migrations.admin",
    "auth": "cms.contrib.migrations.auth",
    "contenttypes": "cms.contrib.migrations.contenttypes",
}

MIDDLEWARE = [
    "cms.middleware.HealthMiddleware",
    "cms.middleware.MetricsMiddleware",
    "cms.middleware.RequestIdMiddleware",
    # This middleware comes before the page cache, because its headers depend on the client.
    "api.middleware.ApiMiddleware",
    "reader.page_cache.middleware.PageCacheMiddleware",
    # This middleware comes before any other that can reject a request, because error pages also need the policy.
    "cms.middleware.ContentSecurityPolicyMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "cms.middleware.PermissionsPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "cms.requests.stale.StaleMiddleware",
    # This middleware comes before the gate, so that heavy requests don't count toward the gate's limit while they wait.
    "cms.middleware.HeavyMiddleware",
    "cms.middleware.GateMiddleware",
    "reader.page_cache.middleware.ComparePageMiddleware",
    "cms.middleware.SiteMiddleware",
    "reader.page_cache.middleware.RecordPageMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "wordpress.views.OldNumberMiddleware",
    "cms.middleware.InvalidIdMiddleware",
    "cms.accounts.throttling.ThrottleMiddleware",
    "cms.middleware.ReloginMiddleware",
]

# For `shell_plus`, if the site installs django-extensions.
SHELL_PLUS_IMPORTS = [f"from {path.rpartition('.')[0]} import {path.rpartition('.')[2]}" for path in IMPORTS]

ROOT_URLCONF = "cms.urls"
WSGI_APPLICATION = "cms.wsgi.application"
# The site is always at the root of its host. This overrides SCRIPT_NAME from servers and request headers.
FORCE_SCRIPT_NAME = ""
# The paths of pages have no trailing slash (/about). reader.views.pages redirects paths with a trailing slash.
APPEND_SLASH = False

_LOADERS = ["cms.template_indentation.FilesystemLoader", "cms.template_indentation.AppDirectoriesLoader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [THEME_DIR / "templates", SHIPPED_DIR / "templates"],
        "OPTIONS": {
            # Parsed templates are cached unless DEBUG is on. With DEBUG, changes to a theme take effect immediately.
            "loaders": _LOADERS if DEBUG else [("django.template.loaders.cached.Loader", _LOADERS)],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "cms.context_processors.site",
            ],
        },
    }
]

FORM_RENDERER = "cms.template_indentation.FormRenderer"

AUTHENTICATION_BACKENDS = [
    "cms.accounts.throttling.ThrottledBackend",
    "django.contrib.auth.backends.ModelBackend",
]

AUTH_PASSWORD_VALIDATORS = [
    *(
        {"NAME": f"django.contrib.auth.password_validation.{name}"}
        for name in (
            "UserAttributeSimilarityValidator",
            "MinimumLengthValidator",
            "CommonPasswordValidator",
            "NumericPasswordValidator",
        )
    ),
    {"NAME": "api.rights.passwords.TokenRevoker"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "/"

LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LANGUAGE_CODE = env.LANGUAGE_CODE
LOCALE_PATHS = [SHIPPED_DIR / "locale"]
FORMAT_MODULE_PATH = "cms.formats"
TIME_ZONE = env.TIME_ZONE
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [folder for folder in (THEME_DIR / "static", SHIPPED_DIR / "static") if folder.is_dir()]
# The folder with the files that browsers request at the root of a host, such as favicon.ico.
WHITENOISE_ROOT = SHIPPED_DIR / "static" / "root"
# Number of seconds that clients can cache files without a digest in their names. Files with a digest never expire.
WHITENOISE_MAX_AGE = 0 if DEBUG else 24 * 60 * 60
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "cms.serving.static_files.HashedFilesStorage"},
}

# Emails can contain password reset links, so a public site must not write emails to its log. Django 6.1 deprecates these
# settings in favour of MAILERS, which Django 5.2 doesn't support.
vars().update(email_settings(env.EMAIL_URL))
# Timeout for the mail server in seconds. Without a timeout, a server that accepts connections but doesn't respond would
# block the worker.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.DEFAULT_FROM_EMAIL

# Settings for HTTPS and cookies, which are strict on public sites.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = not LOCAL
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 0 if LOCAL else env.HSTS_SECONDS
# The following two settings are off by default, because they also affect other sites on the domain, and can't be
# reverted for a long time.
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.HSTS_SUBDOMAINS
SECURE_HSTS_PRELOAD = env.HSTS_PRELOAD
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "strict-origin-when-cross-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "cms.requests.errors.csrf_failure"
CSRF_TRUSTED_ORIGINS = env.CSRF_TRUSTED_ORIGINS
BEHIND_PROXY = env.BEHIND_PROXY
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        # Only the Markdown editor's page uses the nonce, because CodeMirror adds a style element.
        "style-src": ["'self'", NONCE],
        "object-src": ["'none'"],
        "base-uri": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# Maximum number of requests per worker that can use the database at the same time (cms.requests.gate). A worker has a
# few more threads.
REQUESTS_AT_ONCE = env.REQUESTS_AT_ONCE

# Size of each worker's page cache in bytes. The cache that all workers share is twice this size (reader.page_cache). If
# DEBUG is on, no pages are cached, so that changes to a theme take effect immediately.
PAGE_CACHE_BYTES = 0 if DEBUG else env.PAGE_CACHE_MB * 1024 * 1024
# Number of minutes that a cached page can be shown, marked as stale, while the database is unavailable.
STALE_MINUTES = env.STALE_MINUTES
# CDN or reverse-proxy caches (docs/how-to/cdn.md): the URLs for purge requests, and the function that sends these
# requests.
CDN_PURGE_URLS = env.CDN_PURGE_URLS
CDN_PURGER = env.CDN_PURGER

# Maximum size of a page's text in UTF-8 bytes. A MongoDB document can be at most 16 MB, and can contain the text up to
# four times, for example in the live version and in a draft.
TEXT_MAX_BYTES = env.TEXT_MAX_KB * 1_000

# Whether uncached pages are read from a secondary while no primary is available.
READ_SECONDARIES = env.READ_SECONDARIES

# Limits for photos. Other limits are in photos.assets.limits.
PHOTOS = {
    "MAX_BYTES": env.PHOTOS_MAX_MB * 1024 * 1024,
    "MAX_PIXELS": env.PHOTOS_MAX_MEGAPIXELS * 1_000_000,
    "KEEP_LOCATION": env.PHOTOS_KEEP_LOCATION,
    "GRACE_HOURS": env.PHOTOS_GRACE_HOURS,
}

# Maximum size of a file, such as a PDF or a video, in bytes.
FILES_MAX_BYTES = env.FILES_MAX_MB * 1024 * 1024

# The API (docs/reference/api.md). Scripts from the origins in ORIGINS can read public content. "*" means any origin.
API = {
    "ORIGINS": env.API_ORIGINS,
    "READS_PER_MINUTE": env.API_READS_PER_MINUTE,
    "WRITES_PER_MINUTE": env.API_WRITES_PER_MINUTE,
    # Number of days for which changes are stored in the change feed.
    "CHANGES_DAYS": env.API_CHANGES_DAYS,
}

# The sites whose pages can embed discussions, and the keys with which they sign the tokens of their logged-in readers
# (docs/how-to/embed-comments.md).
EMBED = {"ORIGINS": env.EMBED_ORIGINS, "KEYS": env.EMBED_KEYS}

FILE_UPLOAD_HANDLERS = ["cms.requests.uploads.RefusingUploadHandler"]
# The maximum size of a form in bytes. It is at least four times the maximum text size, because a form for resolving a
# conflict contains the text three times.
DATA_UPLOAD_MAX_MEMORY_SIZE = max(5 * 1024 * 1024, 4 * TEXT_MAX_BYTES)
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000

# The networks from which clients can read /metrics, and the token with which any client can read /metrics
# (cms.requests.metrics).
METRICS_NETWORKS = env.METRICS_NETWORKS
METRICS_TOKEN = env.METRICS_TOKEN or ""

# MongoDB commands that take more milliseconds than this are logged, with the request id. To turn off this log, use 0.
SLOW_COMMAND_MS = env.SLOW_COMMAND_MS

LOG_LEVEL = env.LOG_LEVEL
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "cms.requests.logs.OneLineFormatter"},
        "json": {"()": "cms.requests.logs.JsonFormatter"},
    },
    "filters": {
        "public": {"()": "cms.requests.logs.PublicPathFilter"},
        "refusals": {"()": "cms.requests.logs.RefusalFilter"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "filters": ["public", "refusals"],
            "formatter": env.LOG_FORMAT,
        }
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    # django.request logs only errors, because each request already has a log line with its status. gunicorn's log lines
    # propagate to the root logger, so that they have the same format. Django's log records about tasks are dropped,
    # because the worker logs each task and, if the task failed, the reason.
    "loggers": {
        "django.request": {"level": "ERROR"},
        "django.tasks": {"level": "CRITICAL"},
        "django_tasks": {"level": "CRITICAL"},
        "gunicorn.error": {"propagate": True},
    },
}

# The queue for tasks that requests don't wait for, such as sending emails and creating photo copies
# (docs/how-to/use-the-task-queue.md).
TASKS = {"default": {"BACKEND": "marginalia.tasks.MongoDBBackend"}}

# The settings of the comments app (docs/reference/comments-settings.md).
COMMENTS = {
    "DATABASE": "default",
    # The order in which pages show comments. Links to a comment depend on this order to find the right page of the
    # discussion.
    "DEFAULT": {"ORDER": "threaded"},
    # Operators can embed a discussion in its node. Such a discussion moves to the trash together with its node.
    "TARGETS": {"nodes.node": {"EMBEDDED": {"TRASH": "cms.trash"}}},
    "RENDERER": "cms.comments.render",
    "POLICY": "cms.comments.policy",
    "AUTHORS": "cms.comments.authors",
    "SECTIONS": "cms.comments.Sections",
    "CHOOSE_LAYOUT": "cms.comments.layout",
    "ADDRESS": "marginalia.comments.posting.ip_hash.forwarded"
    if BEHIND_PROXY
    else "marginalia.comments.posting.ip_hash.remote",
    "ORIGIN": "nodes.links.origin",
    "MODERATORS": env.MODERATORS,
}
