"""Simulated editors, who open and submit the admin's forms without a browser."""

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
    match = re.search(rf'(?:^|\s){name}(?:="([^"]*)")?(?=\s|$)', tag)
    return unescape(match[1] or "") if match else None


def fields(html: str, form: str = "node_form") -> dict[str, Any]:
    """Return the values that a browser would send for a form, without the buttons."""
    html = html.partition(f'id="{form}"')[2].partition("</form>")[0]
    values: dict[str, Any] = {}
    for match in _FIELD.finditer(html):
        tag = match["input"] or match["area"] or match["select"] or ""
        name, kind = _attribute(tag, "name"), _attribute(tag, "type")
        if name is None or kind == "submit":
            continue
        if match["area"] is not None:
            value: str | None = unescape(match["text"]).removeprefix("\n")
        elif match["select"] is not None:
            selected = re.search(r'<option value="([^"]*)" selected', match["options"])
            value = unescape(selected[1]) if selected else ""
        elif kind in ("radio", "checkbox"):
            value = (_attribute(tag, "value") or "on") if _attribute(tag, "checked") is not None else None
        else:
            value = _attribute(tag, "value") or ""
        if value is not None:
            values.setdefault(name, []).append(value)
    return values


class Editor:
    """An account with a logged-in test client."""

    def __init__(self, user: Any) -> None:
        self.user = user
        self.client = Client()
        self.client.force_login(user)

    def open(self, address: str, status: int = 200) -> dict[str, Any]:
        """Open a page with a node's form, and return the form's values."""
        response = self.client.get(address)
        assert response.status_code == status
        return fields(response.content.decode())

    def fields(self, response: Any) -> dict[str, Any]:
        """Return the values of the node's form in a response."""
        return fields(response.content.decode())

    def send(self, address: str, form: dict[str, Any], /, button: str = "_continue", **typed: Any) -> Any:
        """Change some values in a form, press a button, and return the response."""
        return self.client.post(address, {**form, **typed, button: "x"})
