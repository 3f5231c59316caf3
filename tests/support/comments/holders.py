"""Complete documents that can contain embedded discussions, and that the validators of their collections accept."""

from typing import Any

from bson import ObjectId

from marginalia.mongo.clock import now


def account(key: ObjectId, name: str = "") -> dict[str, Any]:
    """Return the document for an account."""
    return {
        "_id": key,
        "username": name or str(key),
        **dict.fromkeys(("password", "first_name", "last_name", "email"), ""),
        **dict.fromkeys(("is_superuser", "is_staff", "is_active"), False),
        "last_login": None,
        "date_joined": now(),
    }


def page(key: ObjectId, slug: str) -> dict[str, Any]:
    """Return the document for a page at the top level."""
    metadata = {
        **dict.fromkeys(("created", "updated", "published", "expires"), now()),
        "nonce": ObjectId(),
        "type": "basic-page",
        "parent_id": None,
        "slug": slug,
        "title": slug,
        "author": None,
        "tags": [],
        "summary": "",
        "detail": None,
    }
    return {"_id": key, "metadata": metadata}
