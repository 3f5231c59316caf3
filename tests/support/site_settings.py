"""Load the site's settings in a process with a given environment, and parse the reference page for settings."""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / "docs/reference/settings.md").read_text()


def production() -> dict[str, str]:
    """Return the variables for a public site from the reference page.

    The secret key is newly generated. The CA certificate file is omitted, because it doesn't exist on this machine.
    """
    block = re.search(r"```ini\n(.*?)```", SETTINGS, re.DOTALL)[1]
    block = re.sub("&tlsCAFile=[^&]*", "", block)
    return dict(line.split("=", 1) for line in block.splitlines()) | {"SECRET_KEY": secrets.token_urlsafe(50)}


def documented() -> dict[str, str]:
    """Return {variable: default} from the table on the reference page."""
    return {name: default for name, default, _values in documented_rows()}


def documented_rows() -> list[tuple[str, str, str]]:
    """Return (variable, default, values) for each row of the table on the reference page."""
    return re.findall(r"^\| `([A-Z_]+)` \| (.+?) \| ?(.*?) ?\|", SETTINGS, re.MULTILINE)


def run_python(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the site's own settings. The environment contains only these variables, PATH and HOME."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=inherited | environment, capture_output=True, text=True, check=False
    )
