"""What the doctor asks of photos: uploads that stopped, bytes that nothing refers to or that are not whole."""

from collections.abc import Iterator

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document
from marginalia.mongo.doctor import ERROR, WARNING, Examination, Finding, check
from nodes.collections import ASSET_CHUNKS, ASSET_FILES, RENDITION_CHUNKS, RENDITION_FILES, TRASH
from photos import damage
from photos.assets.locks import stale

NAMED = 3
# Chunks looked at in a large bucket.
CHUNKS = 2_000
# Files whose bytes are read.
FILES = 100


@check
def stalled_uploads(examination: Examination) -> Iterator[Finding]:
    """Uploads, replacements and copies whose process died."""
    for name in examination.declared(ASSET_FILES, RENDITION_FILES):
        for found in examination.db[name].find(stale(now()), {"filename": 1}).limit(NAMED):
            message = f"The upload of {found.get('filename')} ({found['_id']}) has stopped."
            yield Finding(WARNING, "stalled-upload", name, message, "manage.py sweep_uploads")


@check
def orphan_chunks(examination: Examination) -> Iterator[Finding]:
    """Chunks of files that are not there: of all, or of a random sample where there are many."""
    for files, chunks in ((ASSET_FILES, ASSET_CHUNKS), (RENDITION_FILES, RENDITION_CHUNKS)):
        if not examination.declared(files):
            continue
        grouped: list[Document] = [*examination.sample_stages(chunks, CHUNKS), {"$group": {"_id": "$files_id"}}]
        ids = {found["_id"] for found in examination.db[chunks].aggregate(grouped)}
        # What goes to the trash, or comes from it in between, is seen in one of three looks.
        for name in (files, TRASH, files):
            ids -= examination.present(name, ids)
        if ids:
            some = ", ".join(str(files_id) for files_id in sorted(ids, key=str)[:NAMED])
            message = f"There are chunks of {len(ids)} files that are not there: {some}."
            yield Finding(WARNING, "orphan-chunk", chunks, message, "manage.py sweep_uploads")


@check
def photo_files(examination: Examination) -> Iterator[Finding]:
    """Photos and copies have the bytes that they say; a random sample is read of many."""
    for name in examination.declared(ASSET_FILES, RENDITION_FILES):
        looked: list[Document] = [{"$sample": {"size": FILES}}, {"$project": damage.FIELDS}]
        documents = examination.db[name].aggregate(looked)
        bad = list(damage.damaged(examination.db, documents, damage.CHUNKS_OF[name]))
        if bad:
            some = "; ".join(f"{document['_id']} {why}" for document, why in bad[:NAMED])
            message = f"{len(bad)} files cannot be shown as they are: {some}."
            fix = "manage.py check_nodes --files lists all; --fix drops damaged copies, photos come from a backup."
            yield Finding(ERROR, "photo-damaged", name, message, fix)
