"""The test database: where its server is, and how it is emptied."""

from typing import Any

from pymongo.database import Database

# The environment variable that tells the workers of one run where their server is.
URI = "TEST_MONGODB_URI"
# Rows that migrations write, and no test may change.
KEPT = {"django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}


def empty(db: Database[dict[str, Any]]) -> None:
    """Delete every document that no migration wrote; indexes stay."""
    for listed in db.list_collections():
        name = listed["name"]
        if listed["type"] == "collection" and name not in KEPT and not name.startswith("system."):
            db[name].delete_many({})
