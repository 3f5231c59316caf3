"""Indexes on the collections of Django's own apps.

The backend makes unique fields partial indexes, which an equality look-up cannot use: without these, each log-in and
each session would scan its collection.
"""

from mongo.collections import Collection, Index, Keys


def _stock(name: str, *indexes: Index) -> Collection:
    return Collection(name, indexes, unsharded_because="Small: accounts and sessions.", shared=True)


def _unique(name: str, *fields: str) -> Index:
    keys: Keys = tuple((field, 1) for field in fields)
    return Index(name, keys, unique=True)


COLLECTIONS = (
    _stock("auth_user", _unique("by_username", "username"), Index("by_email", (("email", 1),))),
    _stock("auth_group", _unique("by_name", "name")),
    _stock("auth_permission", _unique("by_codename", "content_type_id", "codename")),
    _stock("django_content_type", _unique("by_model", "app_label", "model")),
    _stock("django_session", _unique("by_session_key", "session_key")),
    _stock(
        "django_admin_log",
        Index("by_object", (("content_type_id", 1), ("object_id", 1), ("action_time", -1))),
        Index("by_time", (("action_time", -1),)),
    ),
)
