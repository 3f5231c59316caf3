"""Access to the COMMENTS setting, which is read when it is used, never at import time.

docs/reference/comments-settings.md explains each key.
"""

from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.module_loading import import_string

from marginalia.trust import DEFAULT_TRUST_AFTER

DEFAULTS: dict[str, Any] = {
    "DATABASE": "default",
    # The task backend (a key of TASKS) whose tasks send emails and convert long discussions.
    "TASKS": "default",
    "DEFAULT": {"LAYOUT": "documents", "ORDER": "oldest", "OPTIONS": {}},
    # Settings that override DEFAULT, keyed by label: {"app.model": {"LAYOUT": …, "ORDER": …, "OPTIONS": …}}. An entry
    # can also contain "EMBEDDED", with options of the embedded layout. New discussions then still use LAYOUT, but can
    # be converted to the embedded layout. MODE, TRUST_AFTER and LIKES override the keys below.
    "TARGETS": {},
    # Import path of a function that accepts a marginalia.comments.types.Target and returns the layout of a new
    # discussion on this target, or "" to use LAYOUT.
    "CHOOSE_LAYOUT": "marginalia.comments.backends.layouts.stock",
    # Maximum number of levels in a thread.
    "MAX_DEPTH": 8,
    # Maximum length of the source text in characters, and maximum size of a stored comment in bytes.
    "MAX_LENGTH": 10_000,
    "MAX_BYTES": 75_000,
    "PAGE_SIZE": 50,
    "MAX_PAGE_SIZE": 500,
    # Import path of a function that accepts the source text and returns clean HTML.
    "RENDERER": "marginalia.comments.posting.rendering.render",
    # Import path of a function that accepts an object and returns its marginalia.comments.posting.policy.Policy. The
    # default function applies MODE to every object.
    "POLICY": "marginalia.comments.posting.policy.stock",
    "MODE": "hold-first",
    # With the mode "hold-first", comments by writers with this many public comments appear immediately. At most
    # MAX_TRUST_AFTER.
    "TRUST_AFTER": DEFAULT_TRUST_AFTER,
    # Whether readers can like comments.
    "LIKES": False,
    # Import path of a marginalia.comments.targets.Sections class, which lists the sections by which moderators can
    # search for comments.
    "SECTIONS": "marginalia.comments.targets.Sections",
    # Import path of a function that accepts an object and returns the primary keys of its authors' accounts, as
    # strings. When these accounts comment on the object, their comments have the badge “Author”.
    "AUTHORS": "marginalia.comments.targets.no_authors",
    # Authors can edit or delete a comment for this many minutes after they posted it.
    "EDIT_MINUTES": 15,
    # A form expires after FORM_HOURS. A form that is sent within less than MIN_SECONDS is refused, because a person
    # couldn't have filled it in so fast.
    "FORM_HOURS": 24,
    "MIN_SECONDS": 3,
    # Import paths of the spam rules, in the order in which they are applied.
    "RULES": (
        "marginalia.comments.posting.spam.trap",
        "marginalia.comments.posting.spam.speed",
        "marginalia.comments.posting.spam.links",
        "marginalia.comments.posting.spam.words",
        "marginalia.comments.posting.learned_filter.LearnedFilter",
        "marginalia.comments.posting.spam.rate",
        "marginalia.comments.posting.spam.repeat",
    ),
    # The filter that learns from decisions holds a comment if the probability that it is spam is at least this high.
    "SPAM_THRESHOLD": 0.9,
    # The URL, the API key and the site's URL for the rule `spam_service.SpamService`.
    "SPAM_SERVICE": {"URL": "https://rest.akismet.com/1.1", "KEY": "", "SITE": ""},
    # A comment is held if it contains more than MAX_LINKS links, or one of WORDS. RATE is the rate limit for each
    # network and each account, as a pair (comments, seconds).
    "MAX_LINKS": 2,
    "WORDS": (),
    "RATE": (8, 600),
    # Email addresses that receive notices about pending comments. If empty, settings.MANAGERS is used.
    "MODERATORS": (),
    # Import path of a function that accepts a request and returns the client's IP address.
    "ADDRESS": "marginalia.comments.posting.ip_hash.remote",
    # Import path of a function that accepts a request and returns the scheme and host for links in emails and feeds.
    "ORIGIN": "marginalia.comments.reading.links.requested",
    # After a conversion, the old copy is kept for this many seconds, for readers that have already started to read it.
    "KEEP_OLD_COPY": 3_600,
}


def get(key: str) -> Any:
    """Return the value of COMMENTS[key], or its default."""
    return _merged()[key]


def database_alias() -> str:
    """Return the alias of the connection to the comments database."""
    return str(get("DATABASE"))


def entries(label: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the default entry of COMMENTS and the entry for `label`.

    Returns:
        A pair. The first item is DEFAULT, with default values for missing keys. The second item is the entry for
        `label` in TARGETS, or {} if TARGETS contains no such entry.
    """
    return {**DEFAULTS["DEFAULT"], **get("DEFAULT")}, get("TARGETS").get(label, {})


def entry(label: str) -> dict[str, Any]:
    """Return the settings for new discussions on `label` objects: DEFAULT, overridden by the entry for `label`."""
    default, own = entries(label)
    return {**default, **own}


@lru_cache(maxsize=32)
def load(key: str) -> Any:
    """Import and return the object that COMMENTS[key] refers to.

    Raises:
        ImproperlyConfigured: The import fails. The message contains the name of the setting.
    """
    path = get(key)
    try:
        return import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(f"COMMENTS[{key!r}] is {path!r}, which can't be imported.") from error


@lru_cache(maxsize=8)
def load_all(key: str) -> tuple[Any, ...]:
    """Import and return the objects that the paths in COMMENTS[key] refer to. For a class, return an instance.

    Raises:
        ImproperlyConfigured: One of the imports fails.
    """
    try:
        found = [import_string(path) for path in get(key)]
    except ImportError as error:
        raise ImproperlyConfigured(f"COMMENTS[{key!r}]: {error}") from error
    return tuple(each() if isinstance(each, type) else each for each in found)


@lru_cache(maxsize=1)
def _merged() -> dict[str, Any]:
    return {**DEFAULTS, **getattr(settings, "COMMENTS", {})}


@receiver(setting_changed)
def _forget(*, setting: str, **kwargs: Any) -> None:
    if setting == "COMMENTS":
        for cached in (_merged, load, load_all):
            cached.cache_clear()
