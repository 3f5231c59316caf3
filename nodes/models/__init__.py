"""Documents as objects: nodes and photos, the site, the section tree, and results cached by the site's version."""

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
