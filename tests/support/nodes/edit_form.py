"""A node's edit form without a browser: the text and buttons in its bar, and the message after a save."""

import re
from html import unescape
from typing import Any

from bson import ObjectId

from cms.testing.editors import Editor
from marginalia.mongo.clock import now

# A date in the future.
FUTURE = now().replace(year=now().year + 1, month=6, day=1, hour=9, minute=0, second=0, microsecond=0)
# FUTURE as form values, and as text in messages.
FUTURE_FIELDS = {"published_0": f"{FUTURE:%Y-%m-%d}", "published_1": "09:00"}
FUTURE_TEXT = f"June 1, {FUTURE.year}, 9:00 AM"
# The state that the bar shows for a page created with build.node.
LIVE = "Live since January 1, 2020"


def change(node_id: ObjectId, page: str = "change") -> str:
    """Return the path of a node's edit form, or of another admin page of the node."""
    return f"/admin/nodes/node/{node_id}/{page}/"


def bar(html: str) -> tuple[str, str, dict[str, str]]:
    """Return (state, time of the last save, {button name: button label}) from the bar above a form."""
    html = html.partition('class="edit-form-bar"')[2].partition('class="edit-form-main"')[0]
    state: Any = re.search(r'aria-hidden="true"></span><span>([^<]*)</span> <span id="saved-state"[^>]*>([^<]*)<', html)
    buttons = re.findall(r'<button type="submit"[^>]* name="(\w+)"[^>]*>([^<]*)<', html)
    return unescape(state[1]), unescape(state[2]), {name: unescape(label) for name, label in buttons}


def open_bar(editor: Editor, path: str) -> tuple[str, str, dict[str, str]]:
    """Open a form, and return its bar in the format of `bar`."""
    response = editor.client.get(path)
    assert response.status_code == 200
    return bar(response.content.decode())


def last_message(response: Any) -> str:
    """Return the text of a page's last message. Each link is followed by its URL in brackets."""
    assert response.status_code == 200
    html = response.content.decode().partition('class="messagelist"')[2].partition("</ul>")[0]
    messages = re.findall(r"<li[^>]*>(.*?)</li>", html, re.S)
    text = re.sub(r'<a href="([^"]*)">(.*?)</a>', r"\2[\1]", messages[-1])
    return unescape(text).strip()


def submit(editor: Editor, path: str, button: str = "_continue", **typed: Any) -> str:
    """Open a form, change some values, press a button, and return the last message of the next page."""
    data = {**editor.open(path), **typed, button: "1"}
    return last_message(editor.client.post(path, data, follow=True))
