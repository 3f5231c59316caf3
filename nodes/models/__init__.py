"""Documents as objects: nodes and photos, the site, the tree of its sections, and what is kept under the site's version."""

from nodes.models.documents import (
    BaseNode,
    Byline,
    DetailField,
    Metadata,
    MetadataField,
    Node,
    Photo,
    PhotoMetadata,
    SiteSettings,
    as_shown,
    derived_of,
)

__all__ = [
    "Byline",
    "DetailField",
    "Metadata",
    "MetadataField",
    "Node",
    "Photo",
    "PhotoMetadata",
    "BaseNode",
    "SiteSettings",
    "as_shown",
    "derived_of",
]
