"""What `check_nodes --files` finds in the bytes of photos and of their copies."""

from collections.abc import Iterator

from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES, RENDITION_CHUNKS, RENDITION_FILES, TRASH
from nodes.content import PHOTO
from nodes.services.integrity import FILE, FILE_LOOKS, Defect
from photos import damage


def damaged_files(fix: bool) -> Iterator[Defect]:
    """Yield photos, in the trash too, and contents whose bytes are not whole."""
    for collection, query in ((ASSET_FILES, {}), (TRASH, {"metadata.type": PHOTO})):
        documents = database()[collection].find(query, damage.FIELDS)
        for document, why in damage.damaged(database(), documents):
            yield Defect(FILE, f"{document['_id']} ({document.get('filename')}) {why}", False)


def damaged_copies(fix: bool) -> Iterator[Defect]:
    """Yield copies whose bytes are not whole; they go, and are made anew when they are asked for."""
    documents = database()[RENDITION_FILES].find({}, damage.FIELDS)
    for document, why in damage.damaged(database(), documents, RENDITION_CHUNKS):
        if fix:
            database()[RENDITION_CHUNKS].delete_many({"files_id": document["_id"]})
            database()[RENDITION_FILES].delete_one({"_id": document["_id"]})
        yield Defect(FILE, f"copy {document['_id']} ({document.get('filename')}) {why}", fix)


FILE_LOOKS += [damaged_files, damaged_copies]
