"""Bare Django views without middleware and settings. They are the baseline for the site's pages.

The WSGI application is benchmarks.bare:application.
"""

import os
from functools import cache
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.urls import path
from pymongo import MongoClient
from pymongo.database import Database


def view(request: HttpRequest) -> HttpResponse:
    """Return two bytes."""
    return HttpResponse("ok")


def read(request: HttpRequest, size: int) -> HttpResponse:
    """Read the versions of a post with the command that the page cache sends, and return `size` bytes."""
    pipeline = _versions(request.GET["discussion"])
    answer = _database().command(
        "aggregate", "cms.site", pipeline=pipeline, cursor={"batchSize": 1_000}, maxTimeMS=2_000
    )
    if len(answer["cursor"]["firstBatch"]) != 3:
        raise LookupError(request.GET["discussion"])
    return HttpResponse(b"x" * size)


@cache
def _versions(discussion: str) -> list[dict[str, Any]]:
    """Return the pipeline that reads the versions. Like the page cache, this function caches the node's place."""
    node = {"_id": ObjectId(discussion.rpartition(":")[2])}
    stored = _database()["cms.nodes"].find_one(node, {"metadata.parent_id": 1, "metadata.slug": 1})
    if stored is None:
        raise LookupError(discussion)
    place = {f"metadata.{name}": stored["metadata"][name] for name in ("parent_id", "slug")}
    fields = {"metadata.nonce": 1, "metadata.tags": 1}
    discussion_stages = [{"$match": {"_id": discussion}}, {"$project": {"version": 1, "claims": 1}}]
    node_stages = [{"$match": {**node, **place}}, {"$project": fields}]
    return [
        {"$match": {"_id": "site"}},
        {"$unionWith": {"coll": "discussions", "pipeline": discussion_stages}},
        {"$unionWith": {"coll": "cms.nodes", "pipeline": node_stages}},
    ]


def read_all(request: HttpRequest, size: int) -> HttpResponse:
    """Read a post with its first comments, and return the comments' texts, padded to `size` bytes."""
    database = _database()
    discussion = database.discussions.find_one({"_id": request.GET["discussion"]})
    node = database["cms.nodes"].find_one({"_id": ObjectId(request.GET["discussion"].rpartition(":")[2])})
    if not (database["cms.site"].find_one({"_id": "site"}) and discussion and node):
        raise LookupError(request.GET["discussion"])
    shown = {"discussion_id": discussion["_id"], "epoch": discussion["epoch"]}
    comments = database.comments.find(shown).sort("full_slug", 1).limit(101)
    return HttpResponse("".join(comment["html"] for comment in comments).encode().ljust(size))


def upload(request: HttpRequest) -> HttpResponse:
    """Read a body in chunks, as for photo uploads, and return its length."""
    return HttpResponse(str(sum(map(len, iter(lambda: request.read(65_536), b"")))))


@cache
def _database() -> Database[Any]:
    return MongoClient(os.environ["MONGODB_URI"])[os.environ["MONGODB_DATABASE"]]


urlpatterns = [path("", view), path("read/<int:size>", read), path("read-all/<int:size>", read_all)]
urlpatterns += [path("admin/nodes/photo/take", upload)]  # under a path for which servers allow large bodies
settings.configure(ROOT_URLCONF="benchmarks.bare", ALLOWED_HOSTS=["127.0.0.1"], MIDDLEWARE=[], SECRET_KEY="bare")
application = WSGIHandler()
