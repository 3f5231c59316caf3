"""Detect damaged photos and copies, that is, those whose file is missing, or whose chunks are missing or too short."""

from collections.abc import Iterable, Iterator
from typing import Any

from pymongo.database import Database

from marginalia.mongo.connection import Document, batched
from nodes.collections import ASSET_FILES, ASSETS, RENDITION_FILES
from nodes.content import registry

# The number of files whose chunks are counted with one query.
BATCH = 50
PROJECTION = {"length": 1, "chunkSize": 1, "filename": 1, "uploadDate": 1} | {
    f"metadata.{name}": 1 for name in ("type", "locked", "content_id", "source", "spec", "doomed")
}
CHUNKS_OF = {name: f"{name.removesuffix('.files')}.chunks" for name in (ASSET_FILES, RENDITION_FILES)}


def find_damaged(
    db: Database[Document], documents: Iterable[Document], chunks: str = f"{ASSETS}.chunks"
) -> Iterator[tuple[Document, str]]:
    """Yield (document, reason) for each document whose file can't be shown. Uploads in progress are skipped.

    Args:
        db: The database.
        documents: The documents of the files. They must have been read with PROJECTION.
        chunks: The name of the collection that contains the files' chunks.
    """
    for batch in batched(documents, BATCH):
        totals = _chunk_totals(db, [document["_id"] for document in batch], chunks)
        existing = _existing_contents(db, batch)
        for document in batch:
            reason = _missing_fields(document) or _missing_content(document, existing)
            if not reason and document["metadata"].get("locked") is None:
                reason = _missing_chunks(document, totals.get(document["_id"], {"count": 0, "bytes": 0}))
            if reason:
                yield document, reason


def _chunk_totals(db: Database[Document], ids: list[Any], chunks: str) -> dict[Any, Document]:
    """Return the number and the total size of each file's chunks, keyed by file id."""
    size = {"$cond": [{"$eq": [{"$type": "$data"}, "binData"]}, {"$binarySize": "$data"}, 0]}
    group = {"_id": "$files_id", "count": {"$sum": 1}, "bytes": {"$sum": size}}
    totals = db[chunks].aggregate([{"$match": {"files_id": {"$in": ids}}}, {"$group": group}])
    return {total["_id"]: total for total in totals}


def _existing_contents(db: Database[Document], batch: Iterable[Document]) -> set[Any]:
    """Return the ids of the files that the photos in the batch use, excluding missing files."""
    ids = [document.get("metadata", {}).get("content_id") for document in batch]
    query = {"_id": {"$in": [id for id in ids if id is not None]}, "length": {"$gt": 0}}
    return {content["_id"] for content in db[ASSET_FILES].find(query, {"_id": 1})} if any(ids) else set()


def _missing_fields(document: Document) -> str:
    metadata = document.get("metadata")
    missing = [name for name in ("filename", "uploadDate") if not document.get(name)]
    missing += [name for name in ("length", "chunkSize") if not isinstance(document.get(name), int)]
    missing += [] if isinstance(metadata, dict) and metadata else ["metadata"]
    return f"has no {', '.join(missing)}" if missing else ""


def _missing_content(document: Document, existing: set[Any]) -> str:
    metadata = document["metadata"]
    content_id = metadata.get("content_id")
    # The document of a photo in the trash isn't in the collection that was searched, so the document's length is
    # checked instead.
    exists = content_id in existing or (content_id == document["_id"] and document["length"] > 0)
    if metadata.get("type") in registry.uploaded() and content_id is not None and not exists:
        return f"shows {content_id}, which doesn't exist"
    return ""


def _missing_chunks(document: Document, total: Document) -> str:
    chunks = -(-document["length"] // max(document["chunkSize"], 1))
    if document["length"] and total["count"] != chunks:
        return f"has {total['count']} of {chunks} chunks"
    if document["length"] and total["bytes"] != document["length"]:
        return f"has {total['bytes']} of {document['length']} bytes"
    return ""
