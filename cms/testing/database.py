"""A function that empties the test database."""

from typing import Any

from pymongo.database import Database

from marginalia.mongo.connection import no_time_limit

# Collections that are filled by migrations. Tests must not change these collections.
MIGRATED = {"django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}


def empty(db: Database[dict[str, Any]]) -> None:
    """Delete all documents except those that were written by migrations. Indexes are kept.

    A single command finds the few collections that the test has filled. The command reads only the number of documents
    that the server stores for each collection.
    """
    names = [
        collection["name"]
        for collection in db.list_collections(nameOnly=True)
        if collection["type"] == "collection"
        and collection["name"] not in MIGRATED
        and not collection["name"].startswith("system.")
    ]
    stages = [{"$unionWith": {"coll": name, "pipeline": [{"$collStats": {"count": {}}}]}} for name in names]
    for stats in list(db.aggregate([{"$documents": []}, *stages])):
        if stats["count"]:
            # On a busy machine, many documents take longer than the connection's time limit.
            with no_time_limit():
                db[stats["ns"].removeprefix(f"{db.name}.")].delete_many({})
