"""What the site keeps in process between requests."""

import cms.page_cache.middleware  # noqa: F401 - tests change it before a request has loaded it
from cms.page_cache import kept
from nodes.models import tree, version_cache


def forget() -> None:
    """Keep nothing, as a new process."""
    kept.clear()
    version_cache.clear()
    tree.clear()
