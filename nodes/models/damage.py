"""Find damage in a stored node or photo: data that can't be read, and missing data."""

from collections.abc import Iterator, Mapping
from typing import Any

from marginalia.mongo.reading import MALFORMED
from nodes.models.documents import node_from_document

# The projection for documents that are passed to faults().
FIELDS = {"metadata": 1, "derived.excerpt": 1, "derived.language": 1, "derived.minutes": 1}


def faults(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of a document that was read with FIELDS.

    Each fault is a phrase, such as "has no detail". Callers put the document's id before it.
    """
    try:
        node = node_from_document(document)
    except MALFORMED as error:
        yield f"can't be read ({error or type(error).__name__})"
        return
    if document["metadata"].get("detail") is None:
        yield "has no detail, so its text and fields are empty"
    if not isinstance(document.get("derived"), Mapping) and node.content_type.is_installed:
        yield "has nothing derived, so searches don't find it"
    if "/" in node.metadata.slug:
        yield "has a slash in its slug, so its URL leads nowhere"
