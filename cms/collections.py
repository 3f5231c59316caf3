"""Indexes on the collections of Django's own apps.

The backend makes unique fields partial indexes, which an equality look-up cannot use: without these, each log-in and
each session would scan its collection.
"""

from mongo.collections import Collection, Index

COLLECTIONS = (
    Collection(
        "auth_user", (Index("by_username", (("username", 1),), unique=True), Index("by_email", (("email", 1),)))
    ),
    Collection("django_session", (Index("by_session_key", (("session_key", 1),), unique=True),)),
    Collection("auth_group", (Index("by_name", (("name", 1),), unique=True),)),
    Collection("auth_permission", (Index("by_codename", (("content_type_id", 1), ("codename", 1)), unique=True),)),
    Collection("django_content_type", (Index("by_model", (("app_label", 1), ("model", 1)), unique=True),)),
    Collection(
        "django_admin_log", (Index("by_object", (("content_type_id", 1), ("object_id", 1), ("action_time", -1))),)
    ),
)
