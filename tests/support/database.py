"""The test database: where its server is, and how it is emptied."""

from typing import Any

from pymongo.database import Database

# The environment variable that tells the workers of one run where their server is.
URI = "TEST_MONGODB_URI"
# Rows that migrations write, and no test may change.
KEPT = {"django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}


def empty(db: Database[dict[str, Any]]) -> None:
    """Delete every document that no migration wrote; indexes stay.

    One command finds out which collections hold any: a test fills few of them.
    """
    names = [
        listed["name"]
        for listed in db.list_collections()
        if listed["type"] == "collection" and listed["name"] not in KEPT and not listed["name"].startswith("system.")
    ]
    looks = [
        {"$unionWith": {"coll": name, "pipeline": [{"$limit": 1}, {"$project": {"_id": {"$literal": name}}}]}}
        for name in names
    ]
    for found in list(db.aggregate([{"$documents": []}, *looks])):
        db[found["_id"]].delete_many({})
