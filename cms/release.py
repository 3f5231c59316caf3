"""Versions of the site, Python and the main libraries, for `manage.py --version` and /metrics."""

import platform
from importlib import metadata

from cms import __version__


def versions() -> dict[str, str]:
    """Return the version of each component, keyed by its lower-case name."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        "django": metadata.version("Django"),
        "backend": metadata.version("django-mongodb-backend"),
        "pymongo": metadata.version("pymongo"),
    }


def version_line() -> str:
    """Return all versions as a single line of text."""
    components = versions()
    return (
        f"Marginalia {components['version']} (Django {components['django']}, django-mongodb-backend {components['backend']}, "
        f"pymongo {components['pymongo']}, Python {components['python']})"
    )
