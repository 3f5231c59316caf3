"""What to answer when a file is asked for: status, headers and which bytes, by RFC 9110. Knows no framework and no database."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import quote

FOR_EVER = "public, max-age=31536000, immutable"
# Another size, until the one that was asked for is made.
FOR_NOW = "public, max-age=10"
NOT_KEPT = "private, no-store"
# Whatever a browser takes the bytes for, they run nothing and load nothing.
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_RANGE = re.compile(
    r"bytes\s*=\s*(?:(?P<first>\d+)\s*-\s*(?P<last>\d*)|-\s*(?P<suffix>\d+))\s*", re.IGNORECASE | re.ASCII
)
_TAG = re.compile(r'\s*(W/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)')
# More digits than any file's length has; int() of thousands is slow.
_MOST_DIGITS = 18


@dataclass(frozen=True)
class File:
    """A file that can be asked for. `etag` without quotes: it names these bytes, and no others ever."""

    length: int
    etag: str
    modified: datetime
    content_type: str
    filename: str


@dataclass(frozen=True)
class Answer:
    """Status, headers, and the bytes from `start` up to `stop` (not included) as the body; none where they are equal."""

    status: int
    headers: dict[str, str]
    start: int = 0
    stop: int = 0


@dataclass(frozen=True)
class FileRequest:
    """What a request says: its method, and its headers by lower-case name ("if-none-match", "range"…)."""

    method: str
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(asked: FileRequest, file: File, *, cache: str = FOR_EVER, download: bool = False) -> Answer:
    """Return the answer to a GET or HEAD, preconditions in the order of RFC 9110, 13.2.2.

    A range is served where it is one range; several, other units and what cannot be parsed get the whole file, as 14.2 allows.
    """
    headers = {
        "ETag": f'"{file.etag}"',
        "Last-Modified": _date(file.modified),
        "Cache-Control": cache,
        "Accept-Ranges": "bytes",
        **SAFE,
    }
    if refused := _precondition(asked, file):
        return Answer(refused, headers)
    headers["Content-Type"] = file.content_type
    headers["Content-Disposition"] = _disposition(file.filename, download)
    start = 0
    stop = file.length
    status = 200
    if asked.method == "GET" and (wanted := asked.headers.get("range")) and _range_holds(asked, file):
        found = _range(wanted, file.length)
        if found is not None:
            start, stop = found
            if start >= stop:
                refusal = {k: v for k, v in headers.items() if k not in ("Content-Type", "Content-Disposition")}
                return Answer(416, {**refusal, "Content-Range": f"bytes */{file.length}", "Content-Length": "0"})
            status = 206
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.length}"
    headers["Content-Length"] = str(stop - start)
    return Answer(status, headers, start, stop if asked.method == "GET" else start)


def _precondition(asked: FileRequest, file: File) -> int | None:
    """Return 412 or 304 where a precondition decides, else None."""
    headers = asked.headers
    if (tags := headers.get("if-match")) is not None:
        if not _matches(tags, file.etag, weakly=False):
            return 412
    elif (since := _parsed(headers.get("if-unmodified-since"))) and _whole(file.modified) > since:
        return 412
    if (tags := headers.get("if-none-match")) is not None:
        if _matches(tags, file.etag, weakly=True):
            return 304
    elif (since := _parsed(headers.get("if-modified-since"))) and _whole(file.modified) <= since:
        return 304
    return None


def _range_holds(asked: FileRequest, file: File) -> bool:
    """Return whether If-Range, if there is one, names these bytes: strongly, or by the exact date (13.1.5)."""
    condition = asked.headers.get("if-range")
    if condition is None:
        return True
    if condition.strip().startswith(('"', "W/")):
        return condition.strip() == f'"{file.etag}"'
    return _parsed(condition) == _whole(file.modified)


def _range(wanted: str, length: int) -> tuple[int, int] | None:
    """Return start and stop of one range of bytes, empty where nothing of it is in the file; None to ignore it."""
    match = _RANGE.fullmatch(wanted.strip())
    if match is None or any(len(digits or "") > _MOST_DIGITS for digits in match.groups()):
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


def _parsed(date: str | None) -> datetime | None:
    if date is None:
        return None
    try:
        parsed = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _whole(moment: datetime) -> datetime:
    """Return the time as an HTTP date can say it: whole seconds."""
    return moment.replace(microsecond=0)


def _date(moment: datetime) -> str:
    return format_datetime(_whole(moment).astimezone(UTC), usegmt=True)


def _disposition(filename: str, download: bool) -> str:
    """Return Content-Disposition with the name in ASCII and, where that is not all of it, in UTF-8 (RFC 6266)."""
    kind = "attachment" if download else "inline"
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in filename)
    if plain == filename:
        return f'{kind}; filename="{plain}"'
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
