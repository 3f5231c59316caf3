"""The least that Django can do: no middleware, no settings. What pages are compared with.

WSGI application: benchmarks.bare:application
"""

import os
from functools import cache
from typing import Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.urls import path
from pymongo import MongoClient
from pymongo.database import Database


def view(request: HttpRequest) -> HttpResponse:
    """Answer two bytes."""
    return HttpResponse("ok")


def read(request: HttpRequest, size: int) -> HttpResponse:
    """Read the versions that a post depends on, by the command that the page cache sends, and answer `size` bytes."""
    one = [{"$match": {"_id": request.GET["discussion"]}}, {"$project": {"version": 1}}]
    both = [{"$match": {"_id": "site"}}, {"$unionWith": {"coll": "discussions", "pipeline": one}}]
    if len(list(_database()["cms.site"].aggregate(both))) != 2:
        raise LookupError(request.GET["discussion"])
    return HttpResponse(b"x" * size)


@cache
def _database() -> Database[Any]:
    return MongoClient(os.environ["MONGODB_URI"])[os.environ["MONGODB_DATABASE"]]


urlpatterns = [path("", view), path("read/<int:size>", read)]
settings.configure(ROOT_URLCONF="benchmarks.bare", ALLOWED_HOSTS=["127.0.0.1"], MIDDLEWARE=[], SECRET_KEY="bare")
application = WSGIHandler()
