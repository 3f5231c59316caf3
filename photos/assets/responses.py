"""Responses to requests for files, according to RFC 9110: the status, headers and range.

The module uses neither Django nor the database.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import quote

FOR_EVER = "public, max-age=31536000, immutable"
# Cache-Control for files that can be replaced at any time. Caches have to ask for every request whether the ETag is
# still current.
REVALIDATED = "public, no-cache"
# Cache-Control for a copy with a different size, which is sent until the requested copy has been made.
FOR_NOW = "public, max-age=10"
NO_STORE = "private, no-store"
# Headers that keep the file from running or loading anything, even if a browser interprets it as a different type.
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
# Headers for PDF documents, which browsers don't show in a sandbox.
PDF_HEADERS = {**SECURITY_HEADERS, "Content-Security-Policy": "script-src 'none'; frame-ancestors 'self'"}
_RANGE = re.compile(
    r"bytes\s*=\s*(?:(?P<first>\d+)\s*-\s*(?P<last>\d*)|-\s*(?P<suffix>\d+))\s*", re.IGNORECASE | re.ASCII
)
_TAG = re.compile(r'\s*(W/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)')
# Maximum number of digits in a range. No file length has that many digits, and int() is slow for thousands of digits.
_MAX_DIGITS = 18


@dataclass(frozen=True)
class File:
    """A file that can be requested. `etag` has no quotes, and different bytes never have the same `etag`."""

    length: int
    etag: str
    modified: datetime
    content_type: str
    filename: str


@dataclass(frozen=True)
class ResponsePlan:
    """The status, headers and body of a response. The body is the bytes from `start` to `stop` (exclusive)."""

    status: int
    headers: dict[str, str]
    start: int = 0
    stop: int = 0


@dataclass(frozen=True)
class FileRequest:
    """A request: its method, and its headers by lower-case name, such as "if-none-match" or "range"."""

    method: str
    headers: Mapping[str, str] = field(default_factory=dict)


def plan_response(request: FileRequest, file: File, *, cache: str = FOR_EVER, download: bool = False) -> ResponsePlan:
    """Return the response to a GET or HEAD request.

    Preconditions are evaluated in the order that RFC 9110 specifies in section 13.2.2. If a single range is requested,
    the response contains the range. If the request contains several ranges, other units or invalid ranges, the response
    contains the whole file, as section 14.2 of the RFC allows.

    Args:
        request: The request.
        file: The requested file.
        cache: The value of Cache-Control.
        download: Whether the browser should download the file instead of showing it.
    """
    headers = {
        "ETag": f'"{file.etag}"',
        "Last-Modified": _date(file.modified),
        "Cache-Control": cache,
        "Accept-Ranges": "bytes",
        **(PDF_HEADERS if file.content_type == "application/pdf" and not download else SECURITY_HEADERS),
    }
    if precondition_status := _check_preconditions(request, file):
        return ResponsePlan(precondition_status, headers)
    headers["Content-Type"] = file.content_type
    headers["Content-Disposition"] = _disposition(file.filename, download)
    start = 0
    stop = file.length
    status = 200
    if request.method == "GET" and (range_header := request.headers.get("range")) and _if_range_matches(request, file):
        requested = _parse_range(range_header, file.length)
        if requested is not None:
            start, stop = requested
            if start >= stop:
                common = {k: v for k, v in headers.items() if k not in ("Content-Type", "Content-Disposition")}
                return ResponsePlan(416, {**common, "Content-Range": f"bytes */{file.length}", "Content-Length": "0"})
            status = 206
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.length}"
    headers["Content-Length"] = str(stop - start)
    return ResponsePlan(status, headers, start, stop if request.method == "GET" else start)


def _check_preconditions(request: FileRequest, file: File) -> int | None:
    """Return 412 or 304 if a precondition requires that status, or None otherwise."""
    headers = request.headers
    if (tags := headers.get("if-match")) is not None:
        if not _matches(tags, file.etag, weakly=False):
            return 412
    elif (since := _parse_date(headers.get("if-unmodified-since"))) and _whole_seconds(file.modified) > since:
        return 412
    if (tags := headers.get("if-none-match")) is not None:
        if _matches(tags, file.etag, weakly=True):
            return 304
    elif (since := _parse_date(headers.get("if-modified-since"))) and _whole_seconds(file.modified) <= since:
        return 304
    return None


def _if_range_matches(request: FileRequest, file: File) -> bool:
    """Return whether If-Range is absent, or matches the file's strong tag or exact date (RFC 9110, 13.1.5)."""
    condition = request.headers.get("if-range")
    if condition is None:
        return True
    if condition.strip().startswith(('"', "W/")):
        return condition.strip() == f'"{file.etag}"'
    return _parse_date(condition) == _whole_seconds(file.modified)


def _parse_range(header: str, length: int) -> tuple[int, int] | None:
    """Return the start and stop (exclusive) of a single byte range, or None to ignore the header.

    If the range is outside the file, start and stop are equal.
    """
    match = _RANGE.fullmatch(header.strip())
    if match is None or any(len(digits or "") > _MAX_DIGITS for digits in match.groups()):
        return None
    if match["suffix"] is not None:
        return max(length - int(match["suffix"]), 0), length
    first = int(match["first"])
    last = int(match["last"]) if match["last"] else length - 1
    if match["last"] and last < first:
        return None
    return first, min(last + 1, length)


def _matches(tags: str, etag: str, *, weakly: bool) -> bool:
    if tags.strip() == "*":
        return True
    return any(value == etag and (weakly or not weak) for weak, value in _TAG.findall(tags))


def _parse_date(date: str | None) -> datetime | None:
    if date is None:
        return None
    try:
        parsed = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _whole_seconds(moment: datetime) -> datetime:
    """Return the time truncated to whole seconds, which is the precision of HTTP dates."""
    return moment.replace(microsecond=0)


def _date(moment: datetime) -> str:
    return format_datetime(_whole_seconds(moment).astimezone(UTC), usegmt=True)


def _disposition(filename: str, download: bool) -> str:
    """Return a Content-Disposition header with the file name in ASCII, and also in UTF-8 if necessary (RFC 6266)."""
    disposition = "attachment" if download else "inline"
    ascii_name = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in filename)
    if ascii_name == filename:
        return f'{disposition}; filename="{ascii_name}"'
    return f"{disposition}; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(filename, safe='')}"
