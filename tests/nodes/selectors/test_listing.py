"""Fields that lists read, also for types in several versions."""

from django.db import models
from django_mongodb_backend.fields import ArrayField

from cms.testing.build import node
from marginalia.mongo.clock import now
from nodes.content import Page, upgrade
from nodes.models import tree
from nodes.selectors import stored_nodes
from reader.selectors import bylines
from tests.support.nodes.content import registered


class Writer(Page):
    """A page about an author, in its second version."""

    is_of_author = True
    schema_version = 2
    names = ArrayField(models.CharField(max_length=200), default=list)

    @upgrade(from_version=1)
    def split(detail):
        return {**detail, "names": detail.pop("alias").split(", ")}


def test_partial_reads_are_upgraded_too(mongo):
    """Otherwise an upgrader without its fields would fail, and the page would be missing."""
    made = node(slug="mary", title="Mary")
    stored_first = {"metadata.type": "writer", "metadata.detail": {"alias": "M, N", "comments": "open"}}
    mongo["cms.nodes"].update_one({"_id": made}, {"$set": stored_first})
    with registered(Writer):
        (found,) = stored_nodes.live_by_ids(tree.current(), [made], now())
        assert found.metadata.detail.comments == "open"
        assert set(bylines.pages(tree.current(), now())) == {"mary", "m", "n"}
