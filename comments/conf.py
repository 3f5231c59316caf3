"""The setting COMMENTS, read when it is needed and never at import; docs/reference/comments-settings.md explains each key."""

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
    # Levels of a thread.
    "MAX_DEPTH": 8,
    # Characters of what is typed; bytes of what is stored of one comment.
    "MAX_LENGTH": 10_000,
    "MAX_BYTES": 75_000,
    "PAGE_SIZE": 50,
    "MAX_PAGE_SIZE": 500,
    # Import path: source → clean HTML.
    "RENDERER": "marginalia.comments.posting.rendering.render",
    # Import path: object → marginalia.comments.posting.policy.Policy; the stock one says MODE for every object.
    "POLICY": "marginalia.comments.posting.policy.stock",
    "MODE": "hold-first",
    # Import path: object → the accounts, by their primary keys as str, whose comments on it bear the badge “Author”.
    "AUTHORS": "marginalia.comments.targets.no_authors",
    # Minutes in which authors may change and delete their comments.
    "EDIT_MINUTES": 15,
    # Of the form: hours after which it must be sent again, seconds below which only a program can have filled it in.
    "FORM_HOURS": 24,
    "MIN_SECONDS": 3,
    # Import paths of the spam rules, in the order in which they are asked.
    "RULES": tuple(
        f"marginalia.comments.posting.spam.{name}" for name in ("trap", "speed", "links", "words", "rate", "repeat")
    ),
    # Links above which a comment waits, words that let it wait, (comments, seconds) allowed from one network or account.
    "MAX_LINKS": 2,
    "WORDS": (),
    "RATE": (8, 600),
    # E-mail addresses to which pending comments are announced; without any, those of settings.MANAGERS.
    "MODERATORS": (),
    # Import path: request → the client's network address.
    "ADDRESS": "marginalia.comments.posting.ip_hash.remote",
    # Import path: request → scheme and host that links in mails and feeds begin with.
    "ORIGIN": "marginalia.comments.reading.links.requested",
    # Seconds: how long the old copy stays after a conversion, for readers who began in it.
    "KEEP_OLD_COPY": 3_600,
}


def get(key: str) -> Any:
    """Return COMMENTS[key], or its default."""
    return _merged()[key]


def database_alias() -> str:
    """Return which of Django's connections holds the comments."""
    return str(get("DATABASE"))


def entries(label: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what COMMENTS says of discussions of `label`: DEFAULT, in which LAYOUT and ORDER always stand, and its own entry,
    {} without one."""
    return {**DEFAULTS["DEFAULT"], **get("DEFAULT")}, get("TARGETS").get(label, {})


def entry(label: str) -> dict[str, Any]:
    """Return how COMMENTS says that new discussions of `label` are kept: DEFAULT, and what its own entry says otherwise."""
    default, own = entries(label)
    return {**default, **own}


@lru_cache(maxsize=32)
def imported(key: str) -> Any:
    """Return what the import path COMMENTS[key] names. Raises ImproperlyConfigured with the setting's name."""
    path = get(key)
    try:
        return import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(f"COMMENTS[{key!r}]: {path!r} cannot be imported.") from error


@lru_cache(maxsize=8)
def imported_all(key: str) -> tuple[Any, ...]:
    """Return what the import paths in the list COMMENTS[key] name. Raises ImproperlyConfigured."""
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
        for cached in (_merged, imported, imported_all):
            cached.cache_clear()
