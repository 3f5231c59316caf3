"""Readers of imported data."""

from typing import Any

from bson import json_util

from marginalia.comments.types import Target
from nodes import rendering


def stored(mongo) -> dict[str, dict[str, Any]]:
    """Return the metadata of nodes by path, such as "blog/post-1"."""
    nodes = {document["_id"]: document["metadata"] for document in mongo["cms.nodes"].find()}

    def path(metadata: dict[str, Any]) -> str:
        above = metadata["parent_id"]
        return (path(nodes[above]) + "/" if above else "") + metadata["slug"]

    return {path(metadata): metadata for metadata in nodes.values()}


def html_of(metadata: dict[str, Any]) -> str:
    """Return the text of a node as clean HTML."""
    return rendering.to_html(metadata["detail"]["text"], metadata["detail"]["format"])


def snapshot(mongo) -> dict[str, str]:
    """Return every document of every collection."""
    names = sorted(name for name in mongo.list_collection_names() if not name.startswith("system."))
    return {name: json_util.dumps(list(mongo[name].find().sort("_id", 1))) for name in names}


def target(metadata: dict[str, Any], mongo) -> Target:
    place = {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}
    return Target("nodes.node", str(mongo["cms.nodes"].find_one(place)["_id"]))
