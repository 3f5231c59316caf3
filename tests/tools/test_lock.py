"""requirements.lock has what requirements.txt pins, by hashes."""

import re

from tools.lock import LOCK, PINS

_LOCKED = re.compile(r"^([\w-]+)==(\S+) --hash=sha256:([0-9a-f]{64})$")


def pinned() -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+)==(\S+)$", PINS.read_text(), re.MULTILINE))


def test_each_pin_is_locked_and_nothing_else():
    lines = [line for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    found = [_LOCKED.match(line) for line in lines]
    assert all(found), lines
    assert {match[1]: match[2] for match in found} == pinned()
    assert len({match[3] for match in found}) == len(lines)
