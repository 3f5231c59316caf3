"""Known payloads for cross-site scripting, by kind."""

import json
from pathlib import Path

PAYLOADS: dict[str, list[str]] = json.loads((Path(__file__).parent / "payloads.json").read_text())
ALL = [payload for kind in PAYLOADS.values() for payload in kind]


def as_received(payload: str) -> str:
    """Return a payload as a form field receives it: without NUL, and with U+FFFD instead of each unpaired surrogate."""
    return payload.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")
