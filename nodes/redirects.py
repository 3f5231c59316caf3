"""Normalize the URLs from which editors redirect."""

import unicodedata
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

LONGEST = 1_000


def normalized(url: str) -> str:
    """Return the form of a URL on this site under which its redirect is stored, or "" if there can be no such URL.

    Only the path and the query remain, so that absolute URLs of an old site can be imported. The path is unquoted, in
    lower case, in composed Unicode form (NFC), and without a trailing slash. The parameters of the query are sorted.
    """
    try:
        parts = urlsplit(url.strip())
        parameters = sorted(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        return ""
    path = unicodedata.normalize("NFC", unquote(parts.path)).lower().strip("/")
    query = urlencode(parameters)
    normal = f"/{path}?{query}" if query else f"/{path}"
    is_path = not parts.scheme and not parts.netloc
    is_url = parts.scheme in ("http", "https") and bool(parts.netloc)
    is_printable = not any(unicodedata.category(c)[0] == "C" for c in normal)
    return normal if (is_path or is_url) and is_printable and len(normal) <= LONGEST else ""


def path_of(url: str) -> str:
    """Return a normalized URL without its query."""
    return url.partition("?")[0]
