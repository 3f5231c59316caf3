"""The setting COMMENTS, read when it is used and never at import.

docs/reference/comments-settings.md explains each key.
"""

from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.module_loading import import_string

DEFAULTS: dict[str, Any] = {
    "DATABASE": "default",
    # Alias of the back end in TASKS that sends emails and converts long discussions.
    "TASKS": "default",
    "DEFAULT": {"LAYOUT": "documents", "ORDER": "oldest", "OPTIONS": {}},
    # {"app.model": {"LAYOUT": …, "ORDER": …, "OPTIONS": …}}: what differs from DEFAULT. "EMBEDDED", the options of that
    # layout: new discussions are kept as LAYOUT says, and may be converted into the documents of their targets.
    "TARGETS": {},
    # Import path: marginalia.comments.types.Target → the layout of its discussion when that is begun, "" for LAYOUT.
    "CHOOSE_LAYOUT": "marginalia.comments.backends.layouts.stock",
    # Maximum levels of a thread.
    "MAX_DEPTH": 8,
    # Maximum characters of the typed text, and maximum bytes of a stored comment.
    "MAX_LENGTH": 10_000,
    "MAX_BYTES": 75_000,
    "PAGE_SIZE": 50,
    "MAX_PAGE_SIZE": 500,
    # Import path: source → clean HTML.
    "RENDERER": "marginalia.comments.posting.rendering.render",
    # Import path: object → marginalia.comments.posting.policy.Policy; the stock one says MODE for every object.
    "POLICY": "marginalia.comments.posting.policy.stock",
    "MODE": "hold-first",
    # Import path: object → the primary keys, as str, of the accounts whose comments on it bear the badge “Author”.
    "AUTHORS": "marginalia.comments.targets.no_authors",
    # Minutes during which authors can change and delete their comments.
    "EDIT_MINUTES": 15,
    # Hours after which a form must be sent again, and seconds below which only a program can have filled it in.
    "FORM_HOURS": 24,
    "MIN_SECONDS": 3,
    # Import paths of the spam rules, in the order in which they are applied.
    "RULES": tuple(
        f"marginalia.comments.posting.spam.{name}" for name in ("trap", "speed", "links", "words", "rate", "repeat")
    ),
    # Number of links above which a comment waits, words that make it wait, (comments, seconds) allowed per network or
    # account.
    "MAX_LINKS": 2,
    "WORDS": (),
    "RATE": (8, 600),
    # Email addresses for notices about pending comments. Without any, those of settings.MANAGERS.
    "MODERATORS": (),
    # Import path: request → the client's network address.
    "ADDRESS": "marginalia.comments.posting.ip_hash.remote",
    # Import path: request → scheme and host at the beginning of links in emails and feeds.
    "ORIGIN": "marginalia.comments.reading.links.requested",
    # Seconds for which the old copy is kept after a conversion, for readers who began in it.
    "KEEP_OLD_COPY": 3_600,
}


def get(key: str) -> Any:
    """Return COMMENTS[key], or its default."""
    return _merged()[key]


def database_alias() -> str:
    """Return the alias of Django's connection to the database of the comments."""
    return str(get("DATABASE"))


def entries(label: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what COMMENTS specifies for discussions of `label`: DEFAULT, and the entry of the label.

    DEFAULT is completed with LAYOUT and ORDER. The entry is {} if there is none.
    """
    return {**DEFAULTS["DEFAULT"], **get("DEFAULT")}, get("TARGETS").get(label, {})


def entry(label: str) -> dict[str, Any]:
    """Return what COMMENTS specifies for new discussions of `label`: DEFAULT, overridden by the entry of the label."""
    default, own = entries(label)
    return {**default, **own}


@lru_cache(maxsize=32)
def load(key: str) -> Any:
    """Return the object with the import path COMMENTS[key].

    Raises ImproperlyConfigured with the name of the setting.
    """
    path = get(key)
    try:
        return import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(f"COMMENTS[{key!r}]: {path!r} cannot be imported.") from error


@lru_cache(maxsize=8)
def load_all(key: str) -> tuple[Any, ...]:
    """Return the objects with the import paths in the list COMMENTS[key]. Raises ImproperlyConfigured."""
    try:
        return tuple(import_string(path) for path in get(key))
    except ImportError as error:
        raise ImproperlyConfigured(f"COMMENTS[{key!r}]: {error}") from error


@lru_cache(maxsize=1)
def _merged() -> dict[str, Any]:
    return {**DEFAULTS, **getattr(settings, "COMMENTS", {})}


@receiver(setting_changed)
def _forget(*, setting: str, **kwargs: Any) -> None:
    if setting == "COMMENTS":
        for cached in (_merged, load, load_all):
            cached.cache_clear()
