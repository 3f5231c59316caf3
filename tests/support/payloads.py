"""Every known trick to get a script into a page, by kind."""

import json
from pathlib import Path

PAYLOADS: dict[str, list[str]] = json.loads((Path(__file__).parent / "payloads.json").read_text())
ALL = [payload for kind in PAYLOADS.values() for payload in kind]


def arrived(payload: str) -> str:
    """Return what of a payload comes out of a form: no NUL, and for half a pair of surrogates the sign for what is no text."""
    return payload.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")
