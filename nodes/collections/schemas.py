"""What documents of editors' collections must look like, for the server to refuse others."""

from mongo.schemas import (
    BYTES,
    DATE,
    ID,
    INTEGER,
    NUMBER,
    TEXT,
    YES_NO,
    Schema,
    document,
    either,
    listed,
    one_of,
    optional,
)
from nodes.kinds import CONTENT, KINDS, PHOTO

_AUTHOR = document({"_id": optional(ID), "name": TEXT})
_TEXT_DETAIL = document({}, {"text": TEXT, "format": TEXT, "comments": optional(TEXT)})
# What a camera says is of any type: [{n, v}].
_PROPERTY = document({"n": TEXT, "v": either(TEXT, NUMBER, YES_NO, DATE)})
_PHOTO_DETAIL = document(
    {"filename": TEXT},
    {
        "content_type": TEXT,
        "resolution": listed(INTEGER),
        "size": INTEGER,
        "sha256": TEXT,
        "dhash": TEXT,
        "alt": TEXT,
        "focal": optional(listed(NUMBER)),
        "exif": listed(_PROPERTY),
        "comments": optional(TEXT),
    },
)
_COMMON: dict[str, Schema] = {
    "nonce": ID,
    "parent_id": optional(ID),
    "slug": TEXT,
    "title": TEXT,
    "created": DATE,
    "updated": DATE,
    "published": optional(DATE),
    "expires": DATE,
    "author": optional(_AUTHOR),
    "tags": listed(TEXT),
    "summary": TEXT,
}
_UPLOAD: dict[str, Schema] = {"doomed": optional(DATE), "superseded": optional(DATE)}
_NODE = document(
    _COMMON | {"type": one_of(*(name for name in KINDS if name != PHOTO)), "detail": optional(_TEXT_DETAIL)}
)
_PHOTO = document(
    _COMMON | {"type": one_of(PHOTO), "detail": _PHOTO_DETAIL, "locked": optional(DATE), "content_id": optional(ID)},
    _UPLOAD,
)
_CONTENT = document({"type": one_of(CONTENT), "parent_id": ID, "slug": TEXT, "locked": optional(DATE)}, _UPLOAD)
# Ids of nodes and photos, names of inserts.
_REFS = listed(either(ID, TEXT))
_DERIVED = document({}, {"excerpt": TEXT, "text": TEXT, "pairs": TEXT, "refs": _REFS})
_ANY_METADATA = {"anyOf": [_NODE, _PHOTO]}
_FILE: dict[str, Schema] = {"_id": ID, "length": INTEGER, "chunkSize": INTEGER, "uploadDate": DATE, "filename": TEXT}

NODE = document(
    {"_id": ID, "metadata": _NODE},
    {
        "derived": _DERIVED,
        "draft": document(
            {
                "nonce": ID,
                "base_nonce": ID,
                "metadata": document({}, {name: schema for name, schema in _COMMON.items() if name != "nonce"}),
                "saved_at": DATE,
                "saved_by": _AUTHOR,
            },
            {"base_tags": listed(TEXT), "refs": _REFS},
        ),
    },
)
REVISION = document(
    {
        "_id": ID,
        "parent": optional(ID),
        "node_id": ID,
        "metadata": _ANY_METADATA,
        "saved_at": DATE,
        "saved_by": _AUTHOR,
    },
    {"draft": YES_NO, "form": ID, "submitted": document({}), "form_tags": listed(TEXT)},
)
REDIRECT = document(
    {"_id": document({"parent_id": optional(ID), "slug": TEXT}), "node_id": ID}, {"kept_at": DATE, "deleted_at": DATE}
)
TRASHED = document(
    {"_id": ID, "metadata": _ANY_METADATA, "trashed_at": DATE, "trashed_by": _AUTHOR},
    # `deleting`: to be deleted for good, and begun.
    {"derived": _DERIVED, "deleting": YES_NO},
)
SITE = document(
    {"_id": TEXT, "tree": INTEGER, "version": ID, "nonce": ID},
    {
        "settings": document(
            {},
            {
                **dict.fromkeys(("name", "tagline", "language", "time_zone", "comment_policy"), TEXT),
                **dict.fromkeys(("posts_per_page", "comments_close_after_days"), INTEGER),
            },
        )
    },
)
ASSET_FILE = document(_FILE | {"metadata": {"anyOf": [_PHOTO, _CONTENT]}}, {"derived": _DERIVED})
RENDITION_FILE = document(
    _FILE | {"metadata": document({"source": ID, "spec": TEXT, "content_type": TEXT, "locked": optional(DATE)})}
)
CHUNK = document({"_id": ID, "files_id": ID, "n": INTEGER, "data": BYTES})
