"""The caches that a process of the site keeps between requests."""

import reader.page_cache.middleware  # noqa: F401 - tests patch this module before a request has loaded it
from nodes.models import tree, version_cache
from reader.page_cache import storage


def clear_caches() -> None:
    """Clear all caches, so that this process is like a new one."""
    storage.clear()
    version_cache.clear()
    tree.clear()
