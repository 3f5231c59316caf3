"""Editors at their forms, without a browser."""

import re
from html import unescape
from typing import Any

from django.test import Client

_FIELD = re.compile(
    r"<input (?P<input>[^>]*)>"
    r"|<textarea (?P<area>[^>]*)>(?P<text>.*?)</textarea>"
    r"|<select (?P<select>[^>]*)>(?P<options>.*?)</select>",
    re.S,
)


def _attribute(tag: str, name: str) -> str | None:
    found = re.search(rf'(?:^|\s){name}(?:="([^"]*)")?(?=\s|$)', tag)
    return unescape(found[1] or "") if found else None


def fields(html: str, form: str = "node_form") -> dict[str, Any]:
    """Return what the form would send as it stands, buttons apart: what a browser sends."""
    html = html.partition(f'id="{form}"')[2].partition("</form>")[0]
    sent: dict[str, Any] = {}
    for found in _FIELD.finditer(html):
        tag = found["input"] or found["area"] or found["select"] or ""
        name, kind = _attribute(tag, "name"), _attribute(tag, "type")
        if name is None or kind == "submit":
            continue
        if found["area"] is not None:
            value: str | None = unescape(found["text"]).removeprefix("\n")
        elif found["select"] is not None:
            chosen = re.search(r'<option value="([^"]*)" selected', found["options"])
            value = unescape(chosen[1]) if chosen else ""
        elif kind in ("radio", "checkbox"):
            value = (_attribute(tag, "value") or "on") if _attribute(tag, "checked") is not None else None
        else:
            value = _attribute(tag, "value") or ""
        if value is not None:
            sent.setdefault(name, []).append(value)
    return sent


class Editor:
    """An account with a browser that keeps cookies."""

    def __init__(self, user: Any) -> None:
        self.user, self.client = user, Client()
        self.client.force_login(user)

    def open(self, address: str, status: int = 200) -> dict[str, Any]:
        """Open a page with a node's form; return what its form would send."""
        response = self.client.get(address)
        assert response.status_code == status
        return fields(response.content.decode())

    def fields(self, response: Any) -> dict[str, Any]:
        """Return what the form of a node that a response shows would send."""
        return fields(response.content.decode())

    def send(self, address: str, form: dict[str, Any], /, button: str = "_continue", **typed: Any) -> Any:
        """Press a button of a form, with what was typed; return the response."""
        return self.client.post(address, {**form, **typed, button: "x"})
