"""The releases of the site and of what it runs on, for `manage.py --version` and /metrics."""

import platform
from importlib import metadata

from cms import __version__


def releases() -> dict[str, str]:
    """Return the version of each part, by its name in lower case."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        "django": metadata.version("Django"),
        "backend": metadata.version("django-mongodb-backend"),
        "pymongo": metadata.version("pymongo"),
    }


def line() -> str:
    """Return all versions in one line, for a terminal."""
    parts = releases()
    return (
        f"Marginalia {parts['version']} (Django {parts['django']}, django-mongodb-backend {parts['backend']}, "
        f"pymongo {parts['pymongo']}, Python {parts['python']})"
    )
