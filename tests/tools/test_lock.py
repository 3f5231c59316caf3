"""requirements.lock contains the pins of requirements.txt with hashes, and so does the list of parts."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tools.lock import LOCK, PINS

_LOCKED = re.compile(r"^([\w-]+)==(\S+) --hash=sha256:([0-9a-f]{64})$")


def pinned() -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+)==(\S+)$", PINS.read_text(), re.MULTILINE))


def test_exactly_the_pins_are_locked():
    lines = [line for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    found = [_LOCKED.match(line) for line in lines]
    assert all(found), lines
    assert {match[1]: match[2] for match in found} == pinned()
    assert len({match[3] for match in found}) == len(lines)


def test_parts_list_contains_every_package_and_hash(tmp_path):
    written = tmp_path / "sbom.json"
    program = Path(sys.executable).with_name("cyclonedx-py")
    subprocess.run(
        [program, "requirements", LOCK, "--output-reproducible", "--no-validate", "--output-file", written], check=True
    )
    parts = json.loads(written.read_text())["components"]
    assert {part["name"]: part["version"] for part in parts} == pinned()
    hashes = {part["externalReferences"][0]["hashes"][0]["content"] for part in parts}
    assert all(digest in LOCK.read_text() for digest in hashes)
    assert len(hashes) == len(parts)
