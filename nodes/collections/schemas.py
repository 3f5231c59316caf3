"""Validators for the collections of nodes and photos. The server rejects documents that don't match.

The server checks the types of values in the fields of a content type, but requires no field. It doesn't check these
fields in documents whose content type isn't installed, or that have an older or newer version of their content type.
"""

from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField, ObjectIdField

from marginalia.mongo.schemas import (
    ANYTHING,
    BOOLEAN,
    BYTES,
    DATE,
    ID,
    INTEGER,
    NUMBER,
    TEXT,
    Schema,
    array_of,
    document,
    either,
    one_of,
    optional,
)
from nodes.content import CONTENT, FILE, PHOTO, registry, upgrading, values

_AUTHOR = document({"_id": optional(ID), "name": TEXT})
# The first class that matches a field determines its schema.
_OF_CLASSES: tuple[tuple[type[models.Field], Schema], ...] = (
    (models.BooleanField, BOOLEAN),
    (models.DecimalField, NUMBER),
    (models.FloatField, NUMBER),
    (models.IntegerField, INTEGER),
    (models.DurationField, INTEGER),
    (models.DateField, DATE),
    (models.TimeField, DATE),
    (ObjectIdField, ID),
    (models.UUIDField, TEXT),
    (models.CharField, TEXT),
    (models.TextField, TEXT),
)
# Camera properties are stored as [{n, v}]. The values can have any scalar type.
_PROPERTY = document({"n": TEXT, "v": either(TEXT, NUMBER, BOOLEAN, DATE)})
_PHOTO_DETAIL = document(
    {"filename": TEXT},
    {
        "content_type": TEXT,
        "resolution": array_of(INTEGER),
        "size": INTEGER,
        "sha256": TEXT,
        "dhash": TEXT,
        "colour": optional(TEXT),
        "alt": TEXT,
        "focal": optional(array_of(NUMBER)),
        "crop": optional(array_of(NUMBER)),
        "rotation": optional(INTEGER),
        "exif": array_of(_PROPERTY),
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
    "tags": array_of(TEXT),
    "summary": TEXT,
}
_DRAFTED = {name: schema for name, schema in _COMMON.items() if name != "nonce"}
_UPLOAD: dict[str, Schema] = {"doomed": optional(DATE), "superseded": optional(DATE)}


def of_field(field: models.Field) -> Schema:
    """Return the schema for stored values of a declared field.

    The schema also allows null. For a field of an unknown class, the schema is ANYTHING.
    """
    if isinstance(field, EmbeddedModelArrayField):
        return optional(array_of(of_model(field.embedded_model)))
    if isinstance(field, EmbeddedModelField):
        return optional(of_model(field.embedded_model))
    if isinstance(field, ArrayField):
        return optional(array_of(of_field(field.base_field)))
    schema = next((schema for known, schema in _OF_CLASSES if isinstance(field, known)), ANYTHING)
    return optional(schema) if schema else ANYTHING


def of_model(model: type[models.Model]) -> Schema:
    """Return the schema for the `detail` of a content type, or for a part.

    The schema contains the types of all fields, but requires no field.
    """
    return document({}, {field.column: of_field(field) for field in values.stored_fields(model)})


def _node() -> Schema:
    """Return the schema for the metadata of nodes.

    The schema checks the fields in `detail` only if a document has the current version of its content type.
    """
    types = [type for type in registry.types() if not type.is_file]
    present: list[Schema] = [
        {
            "allOf": [_of_version(t.schema_version)],
            "properties": {"type": one_of(t.type_name), "detail": optional(of_model(t))},
        }
        for t in types
    ]
    others: list[Schema] = []
    for number in sorted({type.schema_version for type in types}):
        these = one_of(*(type.type_name for type in types if type.schema_version == number))
        others.append({"not": _of_version(number), "properties": {"type": these}})
    unknown = {"properties": {"type": {"not": one_of(*registry.names())}}}
    fields = _COMMON | {"type": TEXT, "detail": {"bsonType": ["object", "null"]}}
    return {
        **document(fields, {upgrading.VERSION: optional(INTEGER)}),
        "anyOf": [*present, *others, unknown],
    }


def _of_version(number: int) -> Schema:
    """Return the schema for metadata with version `number` of its content type. A missing version counts as FIRST."""
    if number == upgrading.FIRST:
        return {"properties": {upgrading.VERSION: {"enum": [number, None]}}}
    return {"required": [upgrading.VERSION], "properties": {upgrading.VERSION: {"enum": [number]}}}


_PHOTO = document(
    _COMMON | {"type": one_of(PHOTO), "detail": _PHOTO_DETAIL, "locked": optional(DATE), "content_id": optional(ID)},
    _UPLOAD | {upgrading.VERSION: optional(INTEGER)},
)
_FILE_NODE = document(
    _COMMON
    | {
        "type": one_of(FILE),
        "detail": document({"filename": TEXT}, {"content_type": TEXT, "size": INTEGER, "sha256": TEXT}),
        "locked": optional(DATE),
        "content_id": optional(ID),
    },
    _UPLOAD | {upgrading.VERSION: optional(INTEGER)},
)
_CONTENT = document({"type": one_of(CONTENT), "parent_id": ID, "slug": TEXT, "locked": optional(DATE)}, _UPLOAD)
# References are the ids of nodes and photos, and the names of inserts.
_REFS = array_of(either(ID, TEXT))
_DERIVED = document(
    {},
    {
        "excerpt": TEXT,
        "text": TEXT,
        "language": TEXT,
        "terms": array_of(TEXT),
        "title_words": array_of(TEXT),
        "refs": _REFS,
        "facets": array_of(TEXT),
        "date": DATE,
        "picture": ID,
        "minutes": INTEGER,
    },
)
_FILE: dict[str, Schema] = {"_id": ID, "length": INTEGER, "chunkSize": INTEGER, "uploadDate": DATE, "filename": TEXT}

REDIRECT = document(
    {"_id": document({"parent_id": optional(ID), "slug": TEXT}), "node_id": ID},
    {"kept_at": DATE, "deleted_at": DATE, "earlier": array_of(ID)},
)
MANUAL_REDIRECT = document(
    {"_id": TEXT, "target": TEXT, "nonce": ID},
    {"saved_at": DATE, "saved_by": _AUTHOR, "hits": INTEGER, "last_hit": DATE},
)
# A tag with a description, or the former name of a tag. `pages` is the number of pages when the rename began.
TAG = document(
    {"_id": TEXT, "nonce": ID},
    {"description": TEXT, "renamed_to": TEXT, "is_renaming": BOOLEAN, "pages": INTEGER},
)
SITE = document(
    {"_id": TEXT, "tree": INTEGER, "nonce": ID, "frame": ID, "lists": ID, "texts": ID},
    {
        "settings": document(
            {},
            {
                **dict.fromkeys(("name", "tagline", "language", "time_zone", "comment_policy"), TEXT),
                **dict.fromkeys(("posts_per_page", "comments_trust_after", "comments_close_after_days"), INTEGER),
                "comment_likes": BOOLEAN,
                **dict.fromkeys(("theme", "accent", "fonts", "home", "footer"), TEXT),
                **dict.fromkeys(("share_picture", "logo", "logo_dark"), optional(ID)),
                **dict.fromkeys(
                    ("menu", "footer_links", "social"), array_of(document({"label": TEXT, "target": TEXT}))
                ),
            },
        )
    },
)
# The schema for working copies. Once the input has been saved, a working copy contains only its sequence number.
WORKING_COPY = document(
    {"_id": document({"user": ID, "copy": ID}), "seq": INTEGER, "updated": DATE},
    {"type": TEXT, "node_id": optional(ID), "fields": array_of(array_of(TEXT)), "editor": TEXT, "heading": TEXT},
)
SAVED_FILTERS = document({"_id": ID, "filters": array_of(document({"type": TEXT, "name": TEXT, "query": TEXT}))})
# A word, and its spellings with letters left out.
WORD = document({"_id": TEXT, "near": array_of(TEXT)})
ASSET_FILE = document(_FILE | {"metadata": {"anyOf": [_PHOTO, _FILE_NODE, _CONTENT]}}, {"derived": _DERIVED})
RENDITION_FILE = document(
    _FILE | {"metadata": document({"source": ID, "spec": TEXT, "content_type": TEXT, "locked": optional(DATE)})}
)
CHUNK = document({"_id": ID, "files_id": ID, "n": INTEGER, "data": BYTES})


def node() -> Schema:
    """Return the schema for nodes of all installed types."""
    return document(
        {"_id": ID, "metadata": _node()},
        {
            "derived": _DERIVED,
            "position": optional(TEXT),
            # Whether editors have arranged the contents of this section.
            "arranged": BOOLEAN,
            # The nonce of the last discarded draft.
            "discarded": ID,
            "draft": document(
                {
                    "nonce": ID,
                    "base_nonce": ID,
                    "metadata": document({}, {**_DRAFTED, upgrading.VERSION: optional(INTEGER)}),
                    "saved_at": DATE,
                    "saved_by": _AUTHOR,
                },
                # Only scheduled changes have the following fields. `due` is the time when the changes are published,
                # and `derived` is used for lists and search.
                {
                    "base_tags": array_of(TEXT),
                    "refs": _REFS,
                    "due": DATE,
                    "derived": document(
                        {"excerpt": TEXT, "text": TEXT},
                        {"language": TEXT, "picture": optional(ID), "minutes": optional(INTEGER)},
                    ),
                },
            ),
        },
    )


def revision() -> Schema:
    """Return the schema for revisions of nodes and photos."""
    return document(
        {
            "_id": ID,
            "parent": optional(ID),
            "node_id": ID,
            "metadata": {"anyOf": [_node(), _PHOTO, _FILE_NODE]},
            "saved_at": DATE,
            "saved_by": _AUTHOR,
        },
        {"draft": BOOLEAN, "form": ID, "submitted": document({}), "form_tags": array_of(TEXT), "act": TEXT},
    )


def trashed() -> Schema:
    """Return the schema for nodes and photos in the trash."""
    return document(
        {"_id": ID, "metadata": {"anyOf": [_node(), _PHOTO, _FILE_NODE]}, "trashed_at": DATE, "trashed_by": _AUTHOR},
        # `deleting` means that permanent deletion of the document has begun.
        {"derived": _DERIVED, "position": optional(TEXT), "arranged": BOOLEAN, "deleting": BOOLEAN},
    )
