"""A browser without a screen: cookies, forms read from pages, files. Every request is noted in the ledger."""

import http.client
import json
import secrets
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.faults.harness.ledger import Asked, Ledger

# Seconds in which every request must end, with any response.
PATIENCE = 45.0
# Only the page for a comment that others have crowded out contains this attribute (cms.requests.comment_flood).
REFUSED_COMMENT = b"data-retry-after="
File = tuple[str, bytes]


class Broken(Exception):
    """No response came: the connection was refused, reset or silent."""


@dataclass
class Form:
    """A form of a page: its URL, and the data that it would send unchanged."""

    id: str
    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)

    def filled(self, **values: str) -> list[tuple[str, str]]:
        """Return the form's data with these values replaced."""
        kept = [(name, value) for name, value in self.fields if name not in values]
        return [*kept, *values.items()]

    def __getitem__(self, name: str) -> str:
        return dict(self.fields)[name]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self._open: Form | None = None
        self._area: str | None = None
        self._text: list[str] = []
        self._select = ""

    def handle_starttag(self, tag: str, attributes: Sequence[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        name, value = given.get("name", ""), given.get("value", "")
        if tag == "form":
            self._open = Form(given.get("id", ""), given.get("action", ""))
            self.forms.append(self._open)
        elif self._open is None or not (name or tag == "option"):
            return
        elif tag == "button" or (tag == "input" and given.get("type") == "submit"):
            self._open.buttons.append((name, value))
        elif tag == "input" and (given.get("type") not in ("checkbox", "radio", "file") or "checked" in given):
            self._open.fields.append((name, value))
        elif tag == "textarea":
            self._area, self._text = name, []
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and "selected" in given:
            self._open.fields.append((self._select, value))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._open and self._area:
            # A line feed right after the tag is not part of the text.
            self._open.fields.append((self._area, "".join(self._text).removeprefix("\n")))
            self._area = None
        elif tag == "select":
            self._select = ""
        elif tag == "form":
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._area:
            self._text.append(data)


@dataclass(frozen=True)
class Answer:
    """The response of the site."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def location(self) -> str:
        return self.headers.get("location", "")

    def forms(self) -> list[Form]:
        """The forms of the page."""
        reader = _Reader()
        reader.feed(self.text)
        return reader.forms

    def form(self, id: str = "", *, having: str = "") -> Form | None:
        """Return the form with this id, or the first one with a field of this name."""
        for found in self.forms():
            if (id and found.id == id) or (having and having in dict(found.fields)):
                return found
        return None


class Browser:
    """One person's cookies at a site on a loopback port. Several threads can use it, like the tabs of a browser."""

    def __init__(self, port: int, ledger: Ledger) -> None:
        self.port, self.ledger = port, ledger
        self.cookies: dict[str, str] = {}

    def get(self, path: str, kind: str = "page", headers: Mapping[str, str] | None = None) -> Answer:
        """Request a page. Raises Broken."""
        return self._ask(kind, "GET", path, None, headers or {})

    def post(
        self,
        path: str,
        data: Sequence[tuple[str, str]],
        kind: str,
        *,
        files: Mapping[str, File] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a form, with files as multipart. Raises Broken."""
        if files is None:
            body = urlencode(data).encode()
            type_ = "application/x-www-form-urlencoded"
        else:
            body, type_ = multipart(data, files)
        return self._ask(kind, "POST", path, body, {"Content-Type": type_, **(headers or {})})

    def head(self, method: str, path: str, length: int, headers: Mapping[str, str]) -> bytes:
        """Return the head of a request as it is sent."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Cookie: {self._cookie()}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, f"Content-Length: {length}", "Connection: close", "", ""]).encode()

    def hang_up(self, sent: bytes) -> None:
        """Send these bytes and reset the connection, without waiting for a response."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(sent)
        except OSError:
            return

    def _ask(self, kind: str, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        began, status, is_refused = time.monotonic(), 0, False
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            parts = urlsplit(path)
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            sent = {"Cookie": self._cookie(), "X-CSRFToken": self.cookies.get("csrftoken", ""), "Connection": "close"}
            connection.request(method, target, body, {**sent, **headers})
            answer = connection.getresponse()
            content = answer.read()
            status = answer.status
            is_refused = method == "POST" and status == 503 and REFUSED_COMMENT in content
        except (OSError, http.client.HTTPException) as error:
            raise Broken(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()
            self.ledger.asked.append(Asked(kind, path, began, time.monotonic(), status, is_refused))
        for name, morsel in SimpleCookie("; ".join(answer.headers.get_all("Set-Cookie", []))).items():
            self.cookies[name] = morsel.value
        return Answer(status, {name.lower(): value for name, value in answer.headers.items()}, content)

    def _cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in list(self.cookies.items()))


def multipart(data: Sequence[tuple[str, str]], files: Mapping[str, File]) -> tuple[bytes, str]:
    """Return the body of a form and its content type."""
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in data
    ]
    for name, (filename, content) in files.items():
        head = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"'
        parts.append(f"--{boundary}\r\n{head}\r\nContent-Type: image/png\r\n\r\n".encode() + content + b"\r\n")
    return b"".join([*parts, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"
