"""Objects that represent stored data: nodes, photos, the site, the section tree, and cached results."""

from nodes.models.documents import (
    BaseNode,
    Byline,
    DetailField,
    File,
    Metadata,
    MetadataField,
    Node,
    Photo,
    PhotoMetadata,
    SiteSettings,
    as_shown,
    derived_of,
    node_from_document,
)

__all__ = [
    "Byline",
    "DetailField",
    "Metadata",
    "MetadataField",
    "Node",
    "File",
    "Photo",
    "PhotoMetadata",
    "node_from_document",
    "BaseNode",
    "SiteSettings",
    "as_shown",
    "derived_of",
]
