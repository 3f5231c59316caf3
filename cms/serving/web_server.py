"""The command line of the web server."""

import sys
from pathlib import Path

_SETTINGS = Path(__file__).with_name("gunicorn_conf.py")


def gunicorn_command(application: str, port: int) -> list[str]:
    """Return gunicorn's command line for an application on a loopback port. Tests and benchmarks also use it."""
    return [sys.executable, "-m", "gunicorn", application, "--config", str(_SETTINGS), "--bind", f"127.0.0.1:{port}"]
