"""Reverse URLs, and cache them in memory."""

from functools import lru_cache
from urllib.parse import quote

from django.urls import URLResolver, get_resolver, get_script_prefix, get_urlconf, reverse
from django.utils.http import RFC3986_SUBDELIMS

# A value that stands for an argument when a URL is reversed. It has no characters that `reverse` would escape.
_PLACEHOLDER = "marginalia.placeholder"
# The characters that `reverse` doesn't escape in arguments.
_SAFE = f"{RFC3986_SUBDELIMS}/~:@"


def cached_reverse(name: str, *args: object) -> str:
    """Return the same URL as `reverse`, about ten times as fast if the URL has been reversed before.

    Use this function for URLs with few different arguments.
    """
    return _reverse(get_resolver(get_urlconf()), get_script_prefix(), name, args)


def reverse_around(name: str, before: tuple[str, ...], key: str, after: tuple[str, ...] = ()) -> str:
    """Return the URL with the arguments `before`, `key` and `after`. Only the URL for other keys has to be cached."""
    start, _, end = cached_reverse(name, *before, _PLACEHOLDER, *after).partition(_PLACEHOLDER)
    return f"{start}{quote(key, safe=_SAFE)}{end}"


@lru_cache(maxsize=2_000)
def _reverse(resolver: URLResolver, prefix: str, name: str, args: tuple[object, ...]) -> str:
    return reverse(name, args=args)
