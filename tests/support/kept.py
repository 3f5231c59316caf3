"""What the site keeps in process between requests."""

from cms.page_cache import kept
from nodes.models import tree, version_cache


def forget() -> None:
    """Keep nothing, as a new process."""
    kept.clear()
    version_cache.clear()
    tree.clear()
