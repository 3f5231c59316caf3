"""The caches of a process that serves the site, which tests have to empty."""

import reader.page_cache.middleware  # noqa: F401 - tests patch this module before any request has loaded it
from nodes.models import tree, version_cache
from nodes.services import redirect_hits, vocabulary
from reader.page_cache import storage


def clear_caches() -> None:
    """Clear all caches, so that this process behaves like a new process."""
    storage.clear()
    version_cache.clear()
    tree.clear()
    vocabulary.clear()
    redirect_hits.clear()
