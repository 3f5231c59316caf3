"""Hostile requests, made by hypothesis over every address that the site knows: a new one is covered by itself."""

import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

from django.urls import URLPattern, URLResolver, get_resolver
from hypothesis import strategies as st

# In every name that a request makes up. Where it is met in a command as the name of a field or an operator, a request has said
# what is to be done, not only with what.
MARK = "fuzz"
METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND")
HUGE = "h" * 10_000_000

NASTY = (
    "", " ", "0", "-1", "-9" * 9, "9" * 20, "9" * 400, "1e999", "NaN", "Infinity", "½", "٣", "0x1f", "1.5", "true",
    "null", "None",
    "undefined", "$fuzz", "$$fuzz", "$where", "$$ROOT", "fuzz.$fuzz", "$fuzz.0", ".", "..", "...", "a.fuzz.b",
    "fuzz[$fuzz]",
    '{"$fuzz": 1}', '{"$where": "sleep(9e9)"}', '[{"$fuzz": {"$ne": null}}]', "[]", "{}", "'", '"', "`", "\\",
    "';return 1//",
    "\x00", "a\x00b", "\r\nX-Fuzz: 1", "a\nb", "\t", "\x1b[31m", "\ufeff", "\u202e", "\ud7ff", "\U0010ffff", "é",
    "e\u0301", "İ", "ß",
    "../../../../etc/passwd", "..\\..\\x", "....//", "/etc/passwd", "file:///etc/passwd", "//evil.example",
    "https://evil.example",
    "/\\evil.example", "javascript:alert(1)", "data:text/html,x", "<script>alert(1)</script>", "{{7*7}}", "{% now %}",
    "${7*7}",
    "%s%n%x", "%00", "%ff", "%2e%2e%2f", "%0d%0aX-Fuzz:1", "x" * 300, "x" * 5_000, "a/" * 200, "あ" * 200, "a-" * 500,
    "(" * 500,
    "0" * 24, "f" * 24, "F" * 24, "z" * 24, "0" * 23, "0" * 25, "5" * 12, "<9999999999999.000000000000000000000000", ">0.x",
    "<1.ffffffffffffffffffffffff", "<-1." + "0" * 24, ">" + "9" * 15 + "." + "0" * 24, "threaded.after.$fuzz",
    "oldest.99999999", "<1.-1." + "f" * 24,
    "newest.-1", "threaded.at." + "a" * 16, "threaded.before." + "~" * 600, "top", "any", "none", "2999-12-31",
    "0000-00-00",
    "24:61:61", "2026-02-30", "99999-01-01", "on", "x:y:z",
)  # fmt: skip
# A header that some servers put into the request's environment under its own name.
SCRIPT_NAME = "SCRIPT_NAME"
HEADERS = (
    "Host", "X-Forwarded-Host", "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Referer", "Origin", "User-Agent",
    "Accept",
    "Accept-Language", "Accept-Encoding", "If-None-Match", "If-Modified-Since", "If-Match", "If-Range", "Range",
    "Authorization",
    "Content-Type", "X-Requested-With", "X-HTTP-Method-Override", "X-CSRFToken", "Expect", "Cookie2", "X-Request-ID", "Via",
    "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Ssl", "X-Real-IP", "Script-Name", SCRIPT_NAME, SCRIPT_NAME,
)  # fmt: skip
VALUES = (
    "bytes=0-", "bytes=-1", "bytes=9999999999-", "bytes=1-0", "bytes=0-0,2-3", "bytes=" + "9" * 400 + "-", "items=0-1",
    'W/"x"', '"x", "y"', "*", '"', "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 99 Foo 9999 99:99:99 GMT", "evil.example",
    "localhost:99999",
    "[::1", "127.0.0.1:0x50", "a.b:c", "gzip;q=9", "application/json", "text/html;charset=fuzz", "en-$fuzz,xx;q=9",
    "Basic $fuzz",
    "::ffff:1.2.3.4, fuzz, 999.999.999.999", "multipart/form-data; boundary=", "multipart/form-data", "xx" * 2_000,
    "\xff\xfe", "", "/gone", "/news", "//evil.example", "/%00", "https", "gopher", "on",
)  # fmt: skip
COOKIES = ("sessionid", "csrftoken", "messages", "comments_own", "django_language", "$fuzz", "a.fuzz")


@dataclass(frozen=True)
class Route:
    """An address of the site: pieces of text, and between them converters' names, "" for a regular expression's group."""

    name: str
    pieces: tuple[str, ...]
    converters: tuple[str, ...]


@dataclass
class Known:
    """What the site has, so that requests get further than to the first check."""

    values: dict[str, list[str]]
    fields: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)

    def learn(self, html: str) -> None:
        """Note the names of a page's fields, and the values that stand in them."""
        self.fields.update(re.findall(r'<(?:input|select|textarea|button)[^>]* name="([^"]{1,80})"', html))
        fresh = re.findall(r' value="([^"]{1,300})"', html)[:40]
        self.words = [*self.words, *(word for word in fresh if word not in self.words)][-400:]


@dataclass(frozen=True)
class Sent:
    """A request, as hypothesis made it."""

    route: str
    is_admin: bool
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = ""

    def __repr__(self) -> str:
        who, body = "administrator" if self.is_admin else "anonymous", self.body[:300]
        return (
            f"{self.method} {self.path[:500]!r} as {who}, {self.headers}, {self.cookies}, {self.content_type}: {body!r}"
        )


def routes() -> list[Route]:
    """Return every address that the resolver knows."""

    def walk(patterns: list[Any], before: str) -> list[tuple[str, str]]:
        found = []
        for pattern in patterns:
            text = before + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                found += walk(pattern.url_patterns, text)
            elif isinstance(pattern, URLPattern):
                found.append((text, pattern.name or str(pattern.callback)))
        return found

    return [_route(text, name) for text, name in walk(get_resolver().url_patterns, "")]


def _route(text: str, name: str) -> Route:
    plain = (
        re.sub(r"\(\?P<\w+>[^()]*\)\$?", "<>", text)
        .replace("^", "")
        .replace("$", "")
        .replace("\\Z", "")
        .replace("\\", "")
    )
    pieces = re.split(r"<[^<>]*>", plain)
    converters = [found.partition(":")[0] if ":" in found else "str" for found in re.findall(r"<([^<>]*)>", plain)]
    return Route(f"{name} {text}", tuple(pieces), tuple(converters))


_text = st.one_of(st.sampled_from(NASTY), st.sampled_from(NASTY), st.text(max_size=20))


@st.composite
def requests(draw: Any, known: Known, route: Route, *, huge: bool = True) -> Sent:
    """Make a request to an address."""
    text = st.one_of(_text, st.sampled_from([word for words in known.values.values() for word in words]))
    path = "/" + "".join(
        piece + (_part(draw, known, converter) if converter is not None else "")
        for piece, converter in zip(route.pieces, (*route.converters, None), strict=True)
    )
    if draw(st.integers(0, 19)) == 0:
        path += draw(
            st.sampled_from(["/", "//", "/.", "/..;/x", "%2f", "%00", "?", ";x=1", "/%2e%2e/admin/", ".json", "%ff%fe"])
        )
    names = st.one_of(
        st.sampled_from(sorted(known.fields)), st.sampled_from(("$fuzz", "a.fuzz", "fuzz[$ne]", "fuzz", ""))
    )
    values = st.one_of(text, st.sampled_from(known.words or [""]))
    if draw(st.booleans()):
        pairs = _repeated(draw, draw(st.lists(st.tuples(names, values), max_size=4)), values)
        path += "?" + "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)
        path += draw(st.sampled_from(["", "", "", "&%ff=%fe", "&&==", "&a=1" * 50]))
    method = draw(st.sampled_from(("GET", "GET", "POST", "POST", "POST", *METHODS)))
    headers = draw(st.lists(st.tuples(st.sampled_from(HEADERS), st.sampled_from(VALUES)), max_size=2))
    cookies = draw(st.lists(st.tuples(st.sampled_from(COOKIES), st.sampled_from(NASTY)), max_size=1))
    body, content_type = b"", ""
    if method not in ("GET", "HEAD", "TRACE", "OPTIONS"):
        pairs = _repeated(draw, draw(st.lists(st.tuples(names, values), max_size=12)), values)
        if huge and draw(st.integers(0, 79)) == 0:
            pairs = [*pairs, (draw(names), HUGE)]
        body, content_type = draw(st.sampled_from(BODIES))(pairs)
    return Sent(
        route.name, draw(st.integers(0, 3)) != 1, method, path, tuple(headers), _sane(cookies), body, content_type
    )  # fmt: skip


def _repeated(draw: Any, pairs: list[tuple[str, str]], values: Any) -> list[tuple[str, str]]:
    """Return the pairs, now and then with each name a second time."""
    return [*pairs, *((name, draw(values)) for name, _value in pairs)] if draw(st.integers(0, 3)) == 0 else pairs


def _sane(cookies: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, quote(value, safe="$.{}[]:\"' ")) for name, value in cookies)


def _part(draw: Any, known: Known, converter: str) -> str:
    good = known.values.get(converter) or known.values["str"]
    if draw(st.integers(0, 3)):
        return quote(draw(st.sampled_from(good)), safe="/:.$")
    return draw(st.sampled_from(("%ff", "%00", "..%2f..%2f", "%c0%ae", "."))) + quote(
        draw(_text)[:3_000], safe="/:.$", errors="replace"
    )


def _quoted(text: str) -> str:
    return quote_plus(text[:20_000], safe="$.[]", errors="replace")


def _form(pairs: list[tuple[str, str]]) -> tuple[bytes, str]:
    body = "&".join(
        f"{quote_plus(name, errors='replace')}={quote_plus(value, errors='replace')}" for name, value in pairs
    )
    return body.encode(), "application/x-www-form-urlencoded"


def _raw_form(pairs: list[tuple[str, str]]) -> tuple[bytes, str]:
    body = b"&".join(
        name.encode("utf-8", "replace") + b"=%ff\xff\x00" + value.encode("utf-8", "replace") for name, value in pairs
    )
    return body, "application/x-www-form-urlencoded; charset=utf-8"


def _multipart(pairs: list[tuple[str, str]], *, ended: bool = True, files: bool = True) -> tuple[bytes, str]:
    parts = []
    for number, (name, value) in enumerate(pairs):
        clean = re.sub(r'[\r\n"]', "", name)
        file = (
            f'; filename="{re.sub(chr(34), "", NASTY[(number * 7) % len(NASTY)])[:200]}"'
            if files and number % 3 == 0
            else ""
        )
        kind = "\r\nContent-Type: image/jpeg" if file else ""
        head = f'--b\r\nContent-Disposition: form-data; name="{clean}"{file}{kind}\r\n\r\n'
        parts.append(head.encode("utf-8", "replace") + value.encode("utf-8", "replace") + b"\r\n")
    return b"".join(parts) + (b"--b--\r\n" if ended else b"--b\r\nContent-Disp"), "multipart/form-data; boundary=b"


def _pictures(pairs: list[tuple[str, str]]) -> tuple[bytes, str]:
    """Files that begin like pictures, under the names that uploads use."""
    begins = (
        b"\xff\xd8\xff\xe0\x00\x10JFIF\x00",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff",
        b"GIF89a\xff\xff\xff\xff",
    )
    parts = []
    for number, (_name, value) in enumerate(pairs):
        head = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{number}.jpg"\r\n\r\n'.encode()
        parts.append(head + begins[number % 3] + value.encode("utf-8", "replace") + b"\r\n")
    return b"".join(parts) + b"--b--\r\n", "multipart/form-data; boundary=b"


def _json(pairs: list[tuple[str, str]]) -> tuple[bytes, str]:
    return json.dumps({name: {"$fuzz": value} for name, value in pairs}).encode(), "application/json"


def _deep(pairs: list[tuple[str, str]]) -> tuple[bytes, str]:
    return b'{"a":' * 5_000 + b"1", "application/json"


def _bytes(pairs: list[tuple[str, str]]) -> tuple[bytes, str]:
    return b"\xff\xfe\x00" + "".join(value for _name, value in pairs).encode(
        "utf-8", "replace"
    ), "text/plain; charset=utf-16"


def _broken(pairs: list[tuple[str, str]]) -> tuple[bytes, str]:
    return _multipart(pairs, ended=False)


def _boundless(pairs: list[tuple[str, str]]) -> tuple[bytes, str]:
    return _multipart(pairs)[0], "multipart/form-data; boundary=" + "b" * 300


BODIES = (_form, _form, _form, _raw_form, _multipart, _pictures, _json, _deep, _bytes, _broken, _boundless)
