"""Find the route at a URL below a public node (nodes.content.routes)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from nodes.content import registry, routes
from nodes.content.routes import Route
from nodes.models import Node, Photo
from nodes.models.tree import Tree
from nodes.selectors import stored_nodes

# Maximum number of path segments in a route's part of a URL. It limits the number of nodes to look for.
MOST_PARTS = 8
# Maximum length of a route's part of a URL. The time for matching several values in a path grows faster than the
# length.
MAX_LENGTH = 500


@dataclass(frozen=True)
class FoundRoute:
    """A route of a public node, and the values in the requested path."""

    node: Node | Photo
    route: Route
    values: Mapping[str, Any]
    # The current URL path of the route, quoted.
    url: str


def may_match(path: str) -> bool:
    """Return whether a path such as "events/calendar" matches a route of any type, wherever its pages are."""
    types = registry.routed()
    return any(routes.match(type.declared_routes, rest) for _beginning, rest in _splits(path) for type in types)


def find(sections: Tree, path: str, moment: datetime) -> FoundRoute | None:
    """Return the route at a path below a live node, or None if there isn't one.

    The node can be the current node at the beginning of the path, or a node that used to be there. If the beginning
    of the path leads to several nodes whose type has a matching route, the node with the longest path is used.
    """
    for beginning, rest in _splits(path):
        if not any(routes.match(type.declared_routes, rest) for type in registry.routed()):
            continue
        node = stored_nodes.resolve(sections, beginning, moment)
        match = routes.match(node.content_type.declared_routes, rest) if node else None
        if node and match:
            url = Tree.url_below(node.get_absolute_url(), quote(rest))
            return FoundRoute(node, match.func, match.kwargs, url)
    return None


def _splits(path: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to split a path into the path of a node and the path of a route, longest node path first."""
    parts = path.split("/")
    for length in range(len(parts) - 1, max(0, len(parts) - 1 - MOST_PARTS), -1):
        rest = "/".join(parts[length:])
        if len(rest) <= MAX_LENGTH:
            yield "/".join(parts[:length]), rest
