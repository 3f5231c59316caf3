"""The edit form of a node without a browser: the texts of its bar, its buttons, and the message after a save."""

import re
from html import unescape
from typing import Any

from bson import ObjectId

from marginalia.mongo.clock import now
from tests.support.nodes.editors import Editor

AHEAD = now().replace(year=now().year + 1, month=6, day=1, hour=9, minute=0, second=0, microsecond=0)
# It, as the form sends it, and as it is told.
DUE = {"published_0": f"{AHEAD:%Y-%m-%d}", "published_1": "09:00"}
WHEN = f"June 1, {AHEAD.year}, 9 a.m."
# What the bar says of what `node` makes.
LIVE = "Live since Jan. 1, 2020"


def change(node_id: ObjectId, what: str = "change") -> str:
    """Return the address of a node's form, or of another of its pages."""
    return f"/admin/nodes/node/{node_id}/{what}/"


def bar(html: str) -> tuple[str, str, dict[str, str]]:
    """Return (state, saved-state, {name of a button: its words}) of the bar above a form."""
    html = html.partition('class="edit-form-bar"')[2].partition('class="edit-form-main"')[0]
    state: Any = re.search(r'aria-hidden="true"></span><span>([^<]*)</span> <span id="saved-state"[^>]*>([^<]*)<', html)
    buttons = re.findall(r'<button type="submit"[^>]* name="(\w+)"[^>]*>([^<]*)<', html)
    return unescape(state[1]), unescape(state[2]), {name: unescape(label) for name, label in buttons}


def seen(editor: Editor, address: str) -> tuple[str, str, dict[str, str]]:
    """Return what the bar at an address says; see `bar`."""
    response = editor.client.get(address)
    assert response.status_code == 200
    return bar(response.content.decode())


def told(response: Any) -> str:
    """Return what was told last of a page, as text; its links in brackets."""
    assert response.status_code == 200
    html = response.content.decode().partition('class="messagelist"')[2].partition("</ul>")[0]
    said = re.findall(r"<li[^>]*>(.*?)</li>", html, re.S)
    text = re.sub(r'<a href="([^"]*)">(.*?)</a>', r"\2[\1]", said[-1])
    return unescape(text).strip()


def sent(editor: Editor, address: str, button: str = "_continue", **typed: Any) -> str:
    """Press a button of the form at an address; return what is told."""
    data = {**editor.open(address), **typed, button: "1"}
    return told(editor.client.post(address, data, follow=True))
