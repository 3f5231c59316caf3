"""Indexes and validators for the collections of Django's own apps.

For unique fields, the database backend creates partial indexes, which equality queries can't use. Without the indexes
declared here, each login and each session lookup would scan a whole collection.
"""

from marginalia.mongo.collections import Collection, Index, Keys
from marginalia.mongo.schemas import BOOLEAN, DATE, ID, INTEGER, TEXT, Schema, document, optional


def _django_collection(name: str, *indexes: Index, fields: dict[str, Schema]) -> Collection:
    return Collection(
        name,
        indexes,
        validator=document(fields),
        unsharded_because="Small: accounts and sessions.",
        shared=True,
    )


def _unique(name: str, *fields: str) -> Index:
    keys: Keys = tuple((field, 1) for field in fields)
    return Index(name, keys, unique=True)


_ACCOUNT: dict[str, Schema] = {
    **dict.fromkeys(("username", "password", "first_name", "last_name", "email"), TEXT),
    **dict.fromkeys(("is_superuser", "is_staff", "is_active"), BOOLEAN),
    "last_login": optional(DATE),
    "date_joined": DATE,
}
_LOG_ENTRY: dict[str, Schema] = {
    "action_time": DATE,
    "user_id": ID,
    "content_type_id": optional(ID),
    "object_id": optional(TEXT),
    "object_repr": TEXT,
    "action_flag": INTEGER,
    "change_message": TEXT,
}

COLLECTIONS = (
    _django_collection(
        "auth_user",
        _unique("by_username", "username"),
        Index("by_email", (("email", 1),)),
        # This index is used to list possible authors. A site may have many accounts, but only a few of them are
        # authors.
        Index("staff_by_username", (("is_staff", 1), ("username", 1)), partial={"is_staff": True}),
        fields=_ACCOUNT,
    ),
    _django_collection("auth_group", _unique("by_name", "name"), fields={"name": TEXT}),
    _django_collection(
        "auth_permission",
        _unique("by_codename", "content_type_id", "codename"),
        fields={"name": TEXT, "codename": TEXT, "content_type_id": ID},
    ),
    _django_collection(
        "django_content_type",
        _unique("by_model", "app_label", "model"),
        fields={"app_label": TEXT, "model": TEXT},
    ),
    _django_collection(
        "django_session",
        _unique("by_session_key", "session_key"),
        fields={"session_key": TEXT, "session_data": TEXT, "expire_date": DATE},
    ),
    _django_collection(
        "django_admin_log",
        Index("by_object", (("content_type_id", 1), ("object_id", 1), ("action_time", -1))),
        Index("by_time", (("action_time", -1),)),
        fields=_LOG_ENTRY,
    ),
)
