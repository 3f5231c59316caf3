"""The command line of the web server."""

import sys
from pathlib import Path

_SETTINGS = Path(__file__).with_name("gunicorn_conf.py")


def gunicorn_command(port: int, *application: str) -> list[str]:
    """Return gunicorn's command line for a loopback port. Tests and benchmarks also use it.

    Args:
        port: The port.
        application: The import path of another WSGI application than the site's own, which is in gunicorn_conf.py.
    """
    return [sys.executable, "-m", "gunicorn", *application, "--config", str(_SETTINGS), "--bind", f"127.0.0.1:{port}"]
