"""The site's own settings in a process of their own, as its environment makes them."""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / "docs/reference/settings.md").read_text()


def production() -> dict[str, str]:
    """Return the variables of a public site, as the reference of settings shows them, with a key of its own and without the
    certificates' file, which is not on this machine."""
    block = re.search(r"```ini\n(.*?)```", SETTINGS, re.DOTALL)[1]
    block = re.sub("&tlsCAFile=[^&]*", "", block)
    return dict(line.split("=", 1) for line in block.splitlines()) | {"SECRET_KEY": secrets.token_urlsafe(50)}


def documented() -> dict[str, str]:
    """Return {variable: default} of the table of settings."""
    return {name: default for name, default, _values in documented_rows()}


def documented_rows() -> list[tuple[str, str, str]]:
    """Return (variable, default, values) of each row of the table of settings."""
    return re.findall(r"^\| `([A-Z_]+)` \| (.+?) \| ?(.*?) ?\|", SETTINGS, re.MULTILINE)


def loaded(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the site's own settings and no variables but these."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=kept | environment, capture_output=True, text=True, check=False
    )
