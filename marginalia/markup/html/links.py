"""Checks of the URLs in links."""

import re
from typing import Final

LINK_SCHEMES: Final = frozenset({"http", "https", "mailto", "tel"})
# The allowed schemes of links in text written by editors. Such text can also link to the site's pages and photos by id.
ARTICLE_SCHEMES: Final = LINK_SCHEMES | {"node", "photo"}
COMMENT_SCHEMES: Final = frozenset({"http", "https", "mailto"})
IMAGE_SCHEMES: Final = frozenset({"http", "https", "photo"})

# Before browsers parse the scheme of a URL, they ignore tabs and line breaks anywhere in the URL, and control
# characters and spaces at its start.
_IGNORED = re.compile("[\t\n\r]")
_LEADING: Final = "".join(map(chr, range(0x21))) + "\x7f\u00a0\u00ad\u200b\u200c\u200d\u2028\u2029\u2060\ufeff"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")


def scheme(url: str) -> str | None:
    """Return the scheme of `url` as a browser would parse it, in lower case, or None for a relative URL.

    If the text before a colon isn't a valid scheme ("java script:"), the result is "?", so that such a URL doesn't
    count as a relative URL.
    """
    url = _IGNORED.sub("", url).lstrip(_LEADING)
    found = _SCHEME.match(url)
    if found:
        return found[1].lower()
    head = re.split(r"[/?#\\]", url, maxsplit=1)[0]
    return "?" if ":" in head or "&colon" in head.lower() else None


def is_allowed(url: str, schemes: frozenset[str] = LINK_SCHEMES) -> bool:
    """Return whether `url` is relative or has one of `schemes`."""
    found = scheme(url)
    return found is None or found in schemes


def is_external(url: str) -> bool:
    """Return whether `url` contains a host, which means that the link may lead to another site."""
    found = scheme(url)
    if found is not None:
        return found in {"http", "https"}
    # Browsers treat a backslash as a slash, so "/\host" is a link to another site.
    return _IGNORED.sub("", url).lstrip(_LEADING)[:2].replace("\\", "/") == "//"
