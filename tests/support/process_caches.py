"""What the site keeps in process between requests."""

import reader.page_cache.middleware  # noqa: F401 - tests change it before a request has loaded it
from nodes.models import tree, version_cache
from reader.page_cache import storage


def forget() -> None:
    """Keep nothing, as a new process."""
    storage.clear()
    version_cache.clear()
    tree.clear()
