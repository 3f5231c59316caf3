"""Checks of photos' stored files and of the files' copies, for `check_nodes --files`."""

from collections.abc import Iterator

from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES, RENDITION_CHUNKS, RENDITION_FILES, TRASH
from nodes.content import registry
from nodes.services.integrity import FILE, FILE_CHECKS, Defect
from photos import damage


def damaged_files(fix: bool) -> Iterator[Defect]:
    """Yield a defect for each damaged photo, even in the trash, and for each damaged file. Nothing is repaired."""
    for collection, query in ((ASSET_FILES, {}), (TRASH, {"metadata.type": {"$in": list(registry.uploaded())}})):
        documents = database()[collection].find(query, damage.PROJECTION)
        for document, reason in damage.find_damaged(database(), documents):
            yield Defect(FILE, f"{document['_id']} ({document.get('filename')}) {reason}", False)


def damaged_copies(fix: bool) -> Iterator[Defect]:
    """Yield a defect for each damaged copy. If `fix` is true, delete the copy. The next request regenerates it."""
    documents = database()[RENDITION_FILES].find({}, damage.PROJECTION)
    for document, reason in damage.find_damaged(database(), documents, RENDITION_CHUNKS):
        if fix:
            database()[RENDITION_CHUNKS].delete_many({"files_id": document["_id"]})
            database()[RENDITION_FILES].delete_one({"_id": document["_id"]})
        yield Defect(FILE, f"copy {document['_id']} ({document.get('filename')}) {reason}", fix)


FILE_CHECKS += [damaged_files, damaged_copies]
