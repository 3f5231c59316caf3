"""The one settings module: what differs between sites comes from the environment (docs/reference/settings.md)."""

from django.utils.translation import gettext_lazy as _

from cms.environment.reading import read
from cms.environment.secret import kept_secret
from cms.environment.table import BASE_DIR
from cms.environment.values import mail
from marginalia.local import cores

env = read(BASE_DIR / ".env")

VAR_DIR = env.VAR_DIR

# A site's own templates and static files, which win over those that it comes with (docs/how-to/change-the-look.md).
THEME_DIR = BASE_DIR / env.THEME

# What `manage.py serve` does (make run).
PORT = env.PORT
# Worker processes of the web server.
WEB_CONCURRENCY = env.WEB_CONCURRENCY or cores.workers()

# Where the site is reached, and what that allows.
ALLOWED_HOSTS = env.ALLOWED_HOSTS
LOCAL = env.is_local
# Absolute addresses in mails, feeds, sitemaps and link previews; where local, without it, those of the host that was asked.
SITE_URL = env.SITE_URL or ""
DEBUG = env.DEBUG
SECRET_KEY = env.SECRET_KEY or kept_secret(VAR_DIR / "secret_key")
DEMO = LOCAL if env.DEMO is None else env.DEMO

DATABASES = {
    "default": {
        "ENGINE": "cms.database",
        "NAME": env.MONGODB_DATABASE,
        "HOST": env.MONGODB_URI or f"embedded:{VAR_DIR}",
        # Each with its reason in docs/reference/settings.md; a MONGODB_URI that says otherwise is refused.
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
    "marginalia.mongo",
    "cms.contrib.apps.AdminConfig",
    "cms.contrib.apps.AuthConfig",
    "cms.contrib.apps.ContentTypesConfig",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_mongodb_backend",
]
# Django's own migrations make integer keys.
MIGRATION_MODULES = {
    "admin": "cms.contrib.migrations.admin",
    "auth": "cms.contrib.migrations.auth",
    "contenttypes": "cms.contrib.migrations.contenttypes",
}

MIDDLEWARE = [
    "cms.middleware.HealthMiddleware",
    "cms.middleware.MetricsMiddleware",
    "cms.middleware.RequestIdMiddleware",
    # Outside of all that may refuse a request: a refusal is a page as well.
    "cms.middleware.PolicyMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "cms.middleware.PermissionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "api.middleware.ApiMiddleware",
    "cms.requests.stale.StaleMiddleware",
    # Outside of the gate: who waits for a turn takes no place there.
    "cms.middleware.HeavyMiddleware",
    "cms.middleware.GateMiddleware",
    "reader.page_cache.middleware.KeptPageMiddleware",
    "cms.middleware.SiteMiddleware",
    "reader.page_cache.middleware.PageCacheMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "wordpress.views.OldNumberMiddleware",
    "cms.middleware.NoSuchIdMiddleware",
    "cms.accounts.throttling.ThrottleMiddleware",
    "cms.middleware.ReloginMiddleware",
]

ROOT_URLCONF = "cms.urls"
WSGI_APPLICATION = "cms.wsgi.application"
# The site is at the root of its host: no server, and no request through one, says otherwise.
FORCE_SCRIPT_NAME = ""
# A page's own path is its address: /about, not /about/. reader.views.pages redirects what ends in a slash.
APPEND_SLASH = False

_LOADERS = ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [THEME_DIR / "templates", BASE_DIR / "templates"],
        "OPTIONS": {
            # Kept parsed, but while a theme is worked on.
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
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = env.TIME_ZONE
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [folder for folder in (THEME_DIR / "static", BASE_DIR / "static") if folder.is_dir()]
# What is asked for by name at the root of a host.
WHITENOISE_ROOT = BASE_DIR / "static" / "root"
# Seconds that files are kept which have no digest in their names; those that have one are kept for ever.
WHITENOISE_MAX_AGE = 0 if DEBUG else 24 * 60 * 60
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# A console's log would keep the links for new passwords that mails carry.
vars().update(mail(env.EMAIL_URL))
# Seconds. A mail server that takes connections and says nothing would keep the worker from all else.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.DEFAULT_FROM_EMAIL

# Transport and cookies: strict wherever the site is open to others.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = not LOCAL
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 0 if LOCAL else env.HSTS_SECONDS
# Both bind more than this site, and for long: the operator says so.
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
        "object-src": ["'none'"],
        "base-uri": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# Requests of one worker that may ask the database at once (cms.requests.gate); serve gives a worker a few threads more.
REQUESTS_AT_ONCE = env.REQUESTS_AT_ONCE

# Pages kept in each worker, and twice as much for all of them together (reader.page_cache).
PAGE_CACHE_BYTES = env.PAGE_CACHE_MB * 1024 * 1024
# How long after its end a kept page may be shown, marked as stale, while the database is away.
STALE_MINUTES = env.STALE_MINUTES
# For so long a page that was compared is shown without asking the database.
PAGE_CACHE_TRUST_MS = env.PAGE_CACHE_TRUST_MS

# Caches in front of the site (docs/how-to/cdn.md): where each is told what to drop, and the function that tells it.
CDN_PURGE_URLS = env.CDN_PURGE_URLS
CDN_PURGER = env.CDN_PURGER

# A text of a page or post, in UTF-8. A document holds up to four (a revision, what a form said), of 16 MB at most.
TEXT_MAX_BYTES = env.TEXT_MAX_KB * 1_000

# Whether readers of other pages get them from a secondary then.
READ_SECONDARIES = env.READ_SECONDARIES

# What the site takes of photos; photos.assets.limits has the rest.
PHOTOS = {
    "MAX_BYTES": env.PHOTOS_MAX_MB * 1024 * 1024,
    "MAX_PIXELS": env.PHOTOS_MAX_MEGAPIXELS * 1_000_000,
    "KEEP_LOCATION": env.PHOTOS_KEEP_LOCATION,
    "GRACE_HOURS": env.PHOTOS_GRACE_HOURS,
}

# The API (docs/reference/api.md). Scripts of these origins may read what readers see: "*" for any.
API = {
    "ORIGINS": env.API_ORIGINS,
    "READS_PER_MINUTE": env.API_READS_PER_MINUTE,
    "WRITES_PER_MINUTE": env.API_WRITES_PER_MINUTE,
    # How long the list of changes reaches back.
    "CHANGES_DAYS": env.API_CHANGES_DAYS,
}

FILE_UPLOAD_HANDLERS = ["cms.requests.uploads.NoFiles"]
# A form on which a conflict is decided carries a text three times.
DATA_UPLOAD_MAX_MEMORY_SIZE = max(5 * 1024 * 1024, 4 * TEXT_MAX_BYTES)
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000

# Who may read /metrics (cms.requests.metrics): these networks, and who has the token.
METRICS_NETWORKS = env.METRICS_NETWORKS
METRICS_TOKEN = env.METRICS_TOKEN or ""

# Commands to MongoDB that take longer are logged, with the request that sent them. 0: none.
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
        "public": {"()": "cms.requests.logs.PublicPaths"},
        "refusals": {"()": "cms.requests.logs.Refusals"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "filters": ["public", "refusals"],
            "formatter": env.LOG_FORMAT,
        }
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    # What is wrong with a request stands in the request's own line.
    # gunicorn's own lines are written like all others.
    "loggers": {"django.request": {"level": "ERROR"}, "gunicorn.error": {"propagate": True}},
}

# The comments app (docs/reference/comments-settings.md).
COMMENTS = {
    "DATABASE": "default",
    # As pages show them: what leads to a comment leads to where readers find it.
    "DEFAULT": {"ORDER": "threaded"},
    # Nodes may hold their discussions: one is converted into its post by an operator, and goes to the trash with it.
    "TARGETS": {"nodes.node": {"EMBEDDED": {"TRASH": "cms.trash"}}},
    "POLICY": "cms.comments.policy",
    "AUTHORS": "cms.comments.authors",
    "LAYOUT": "cms.comments.layout",
    "ADDRESS": "marginalia.comments.posting.ip_hash.forwarded"
    if BEHIND_PROXY
    else "marginalia.comments.posting.ip_hash.remote",
    "ORIGIN": "nodes.links.origin",
    "MODERATORS": env.MODERATORS,
}
