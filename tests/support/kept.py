"""What the site keeps in process between requests."""

from cms import page_cache
from nodes.models import tree, version_cache


def forget() -> None:
    """Keep nothing, as a new process."""
    page_cache.cache.clear()
    version_cache.clear()
    tree.clear()
