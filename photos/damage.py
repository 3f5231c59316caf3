"""Photos and copies whose bytes are not whole: chunks that are missing or short, contents that are not there."""

from collections.abc import Iterable, Iterator
from typing import Any

from pymongo.database import Database

from marginalia.mongo.connection import Document, batched
from nodes.collections import ASSET_FILES, ASSETS, RENDITION_FILES
from nodes.content import PHOTO

# Files whose chunks are asked about at once.
BATCH = 50
FIELDS = {"length": 1, "chunkSize": 1, "filename": 1, "uploadDate": 1} | {
    f"metadata.{name}": 1 for name in ("type", "locked", "content_id", "source", "spec", "doomed")
}
CHUNKS_OF = {name: f"{name.removesuffix('.files')}.chunks" for name in (ASSET_FILES, RENDITION_FILES)}


def damaged(
    db: Database[Document], documents: Iterable[Document], chunks: str = f"{ASSETS}.chunks"
) -> Iterator[tuple[Document, str]]:
    """Yield of files documents, read with FIELDS, those that cannot be shown, and why. Uploads under way are passed over."""
    for batch in batched(documents, BATCH):
        stored = _stored(db, [document["_id"] for document in batch], chunks)
        shown = _shown(db, batch)
        for document in batch:
            why = _malformed(document) or _dangling(document, shown)
            if not why and document["metadata"].get("locked") is None:
                why = _lacking(document, stored.get(document["_id"], {"count": 0, "bytes": 0}))
            if why:
                yield document, why


def _stored(db: Database[Document], ids: list[Any], chunks: str) -> dict[Any, Document]:
    size = {"$cond": [{"$eq": [{"$type": "$data"}, "binData"]}, {"$binarySize": "$data"}, 0]}
    group = {"_id": "$files_id", "count": {"$sum": 1}, "bytes": {"$sum": size}}
    return {
        one["_id"]: one for one in db[chunks].aggregate([{"$match": {"files_id": {"$in": ids}}}, {"$group": group}])
    }


def _shown(db: Database[Document], batch: Iterable[Document]) -> set[Any]:
    """Return which of the later contents that photos of the batch show are there."""
    ids = [document.get("metadata", {}).get("content_id") for document in batch]
    later = {"_id": {"$in": [one for one in ids if one is not None]}, "length": {"$gt": 0}}
    return {found["_id"] for found in db[ASSET_FILES].find(later, {"_id": 1})} if any(ids) else set()


def _malformed(document: Document) -> str:
    metadata = document.get("metadata")
    lacking = [name for name in ("filename", "uploadDate") if not document.get(name)]
    lacking += [name for name in ("length", "chunkSize") if not isinstance(document.get(name), int)]
    lacking += [] if isinstance(metadata, dict) and metadata else ["metadata"]
    return f"has no {', '.join(lacking)}" if lacking else ""


def _dangling(document: Document, shown: set[Any]) -> str:
    metadata = document["metadata"]
    content_id = metadata.get("content_id")
    # In the trash a photo's own content lies with it.
    is_there = content_id in shown or (content_id == document["_id"] and document["length"] > 0)
    if metadata.get("type") == PHOTO and content_id is not None and not is_there:
        return f"shows {content_id}, which is not there"
    return ""


def _lacking(document: Document, stored: Document) -> str:
    chunks = -(-document["length"] // max(document["chunkSize"], 1))
    if document["length"] and stored["count"] != chunks:
        return f"has {stored['count']} of {chunks} chunks"
    if document["length"] and stored["bytes"] != document["length"]:
        return f"has {stored['bytes']} of {document['length']} bytes"
    return ""
