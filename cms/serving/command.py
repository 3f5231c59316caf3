"""The command line of the web server."""

import sys
from pathlib import Path

_SETTINGS = Path(__file__).with_name("gunicorn_conf.py")


def command(application: str, port: int) -> list[str]:
    """Return the command that serves an application on this loopback port: also what tests and benchmarks start."""
    return [sys.executable, "-m", "gunicorn", application, "--config", str(_SETTINGS), "--bind", f"127.0.0.1:{port}"]
