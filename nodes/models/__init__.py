"""Objects that represent stored data: nodes, photos, the site, the section tree, and cached results."""

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
