"""API requests for the actions in the tables of test_pages.py."""

from typing import Any

from tests.rights.by_action import LATER
from tests.rights.world import API, NOT_TOLD, Thing, World, body, stored

# The first words of rows about the API.
START = API
# Requests, and their URLs for a node: method, URL, body.
SENT: dict[str, tuple[str, str, dict[str, Any]]] = {
    "edit": ("PATCH", "", {"title": "Changed"}),
    "edit the draft": ("PATCH", "?version=draft", {"title": "Changed"}),
    "publish": ("POST", "/publish", {}),
    "publish the draft": ("POST", "/publish?version=draft", {}),
    "discard the draft": ("DELETE", "/draft", {}),
    "schedule": ("POST", "/schedule", {"at": f"{LATER:%Y-%m-%dT%H:%M:%SZ}"}),
    "unpublish": ("POST", "/unpublish", {}),
    "tag": ("POST", "/tags", {"add": ["added"]}),
    "trash": ("POST", "/trash", {}),
}


def send(world: World, thing: Thing, action: str, kind: str) -> None:
    """Send an action to the API, with everything that a permitted account knows.

    Fails for any error that is no refusal.
    """
    document = stored(thing.id)
    place = {"move": {"section": str(world.second)}, "put back": {"section": str(world.blog), "slug": thing.slug}}
    method, address, said = SENT.get(action) or ("POST", f"/{action.replace('put back', 'restore')}", place[action])
    version = document.get("draft", document["metadata"]) if "draft" in action else document["metadata"]
    answer = world.send(kind, method, f"/nodes/{thing.id}{address}", said, If_Match=f'"{version["nonce"]}"')
    assert answer.status_code in (200, 204, 401, 403, 404, 409, 422), body(answer)
    if kind in NOT_TOLD:
        assert answer.status_code in ((401,) if kind == "anonymous" else (403, 404)), body(answer)
