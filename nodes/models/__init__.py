"""Documents as objects: nodes and photos, the site, the tree of its sections, and what is kept under the site's version."""

from nodes.models.documents import (
    HTML,
    MARKDOWN,
    Author,
    Metadata,
    Node,
    Photo,
    Photographed,
    PhotoMetadata,
    Placed,
    SiteSettings,
    Text,
)

__all__ = [
    "HTML",
    "MARKDOWN",
    "Author",
    "Metadata",
    "Node",
    "Photo",
    "PhotoMetadata",
    "Photographed",
    "Placed",
    "SiteSettings",
    "Text",
]
