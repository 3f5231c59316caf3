"""The MongoDB collections for imports that administrators upload: the imports, and the bytes of their files."""

from marginalia.mongo.collections import Collection, Index
from marginalia.mongo.schemas import BOOLEAN, BYTES, DATE, ID, INTEGER, TEXT, array_of, document, one_of, optional

IMPORTS = "transfer.imports"
PIECES = "transfer.pieces"
UPLOADING = "uploading"
RUNNING = "running"
DONE = "done"
FAILED = "failed"

DAY = 24 * 60 * 60
# Uploaded files can contain drafts and comments, so they are deleted sooner than the reports.
KEPT_FILES = 7 * DAY
KEPT_REPORTS = 90 * DAY

COLLECTIONS = (
    Collection(
        IMPORTS,
        (Index("kept_for_a_while", (("created", 1),), expire_after_seconds=KEPT_REPORTS),),
        validator=document(
            {
                "_id": ID,
                "nonce": ID,
                "created": DATE,
                "user": document({"_id": optional(ID), "name": TEXT}),
                "filename": TEXT,
                "size": INTEGER,
                "state": one_of(UPLOADING, RUNNING, DONE, FAILED),
                "section": TEXT,
                "downloads": BOOLEAN,
            },
            {
                "is_dry_run": BOOLEAN,
                "job": TEXT,
                "step": TEXT,
                "done": INTEGER,
                "total": INTEGER,
                "report": array_of(TEXT),
                "error": TEXT,
            },
        ),
        unsharded_because="Small: the imports that administrators have uploaded.",
    ),
    Collection(
        PIECES,
        (
            # This index is used to add up the sizes without reading the pieces.
            Index("by_import", (("_id.import_id", 1), ("size", 1))),
            Index("kept_for_a_while", (("created", 1),), expire_after_seconds=KEPT_FILES),
        ),
        validator=document(
            {"_id": document({"import_id": ID, "number": INTEGER}), "created": DATE, "data": BYTES, "size": INTEGER}
        ),
        unsharded_because="Short-lived: the files of imports that haven't been completed.",
    ),
)
