"""Every known trick to get a script into a page, by kind."""

import json
from pathlib import Path

PAYLOADS: dict[str, list[str]] = json.loads((Path(__file__).parent / "payloads.json").read_text())
ALL = [payload for kind in PAYLOADS.values() for payload in kind]
