"""Doctor checks for photos: stalled uploads, orphan chunks, and damaged files."""

from collections.abc import Iterator

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document
from marginalia.mongo.doctor import ERROR, WARNING, Examination, Finding, check
from nodes.collections import ASSET_CHUNKS, ASSET_FILES, RENDITION_CHUNKS, RENDITION_FILES, TRASH
from photos import damage
from photos.assets.locks import stale_filter

# Maximum number of ids that a finding lists.
MAX_LISTED = 3
# The sample size for the chunks of a large bucket.
SAMPLED_CHUNKS = 2_000
# The sample size for files whose bytes are counted.
SAMPLED_FILES = 100


@check
def stalled_uploads(examination: Examination) -> Iterator[Finding]:
    """Check for uploads, replacements and copies that were left unfinished because their process died."""
    for name in examination.declared(ASSET_FILES, RENDITION_FILES):
        for file in examination.db[name].find(stale_filter(now()), {"filename": 1}).limit(MAX_LISTED):
            message = f"The upload of {file.get('filename')} ({file['_id']}) was interrupted."
            yield Finding(WARNING, "stalled-upload", name, message, "Run manage.py sweep_uploads.")


@check
def orphan_chunks(examination: Examination) -> Iterator[Finding]:
    """Check for chunks whose file doesn't exist. If there are many chunks, only a random sample is checked."""
    for files, chunks in ((ASSET_FILES, ASSET_CHUNKS), (RENDITION_FILES, RENDITION_CHUNKS)):
        if not examination.declared(files):
            continue
        pipeline: list[Document] = [
            *examination.sample_stages(chunks, SAMPLED_CHUNKS),
            {"$group": {"_id": "$files_id"}},
        ]
        ids = {group["_id"] for group in examination.db[chunks].aggregate(pipeline)}
        # If a file is moved to or from the trash during the check, one of the three queries finds it.
        for name in (files, TRASH, files):
            ids -= examination.present(name, ids)
        if ids:
            some = ", ".join(str(files_id) for files_id in sorted(ids, key=str)[:MAX_LISTED])
            message = f"{len(ids)} files no longer exist, but their chunks do: {some}."
            yield Finding(WARNING, "orphan-chunk", chunks, message, "Run manage.py sweep_uploads.")


@check
def photo_files(examination: Examination) -> Iterator[Finding]:
    """Check for photos and copies with missing bytes. Only a random sample of SAMPLED_FILES files is checked."""
    for name in examination.declared(ASSET_FILES, RENDITION_FILES):
        pipeline: list[Document] = [{"$sample": {"size": SAMPLED_FILES}}, {"$project": damage.PROJECTION}]
        documents = examination.db[name].aggregate(pipeline)
        damaged = list(damage.find_damaged(examination.db, documents, damage.CHUNKS_OF[name]))
        if damaged:
            some = "; ".join(f"{document['_id']} {reason}" for document, reason in damaged[:MAX_LISTED])
            message = f"{len(damaged)} files are damaged: {some}."
            fix = (
                "Run manage.py check_nodes --files to list all. Add --fix to delete damaged "
                "copies. Restore damaged photos from a backup."
            )
            yield Finding(ERROR, "photo-damaged", name, message, fix)
