"""benchmarks/volume.py: generated content equals what editors would have created."""

import pytest

from benchmarks import volume
from cms.testing.build import EDITOR
from marginalia.mongo.clock import now
from nodes.selectors import stored_nodes
from nodes.services import editing


@pytest.mark.slow
def test_bulk_content_equals_content_of_the_editor(mongo, client):
    moment = now()
    assert sum(volume.load(300, moment)) == 300
    assert sum(volume.load(310, moment)) == 10
    bulk = mongo["cms.nodes"].find_one({"metadata.type": "blog-entry", "metadata.published": {"$ne": None}})
    shown = stored_nodes.get(bulk["_id"])
    assert client.get(shown.get_absolute_url()).status_code == 200
    twin = editing.create(EDITOR, type="blog-entry", parent_id=shown.parent_id, slug="twin", title="Twin").id
    edited = mongo["cms.nodes"].find_one({"_id": twin})
    assert set(bulk) == set(edited)
    assert {k: type(v) for k, v in bulk["metadata"].items() if v} == {
        k: type(edited["metadata"][k]) for k, v in bulk["metadata"].items() if v
    } | {"published": type(moment), "tags": list}
    editing.save(EDITOR, bulk["_id"], bulk["metadata"]["nonce"], {"title": "Changed"})
    assert mongo["cms.revisions"].count_documents({"node_id": bulk["_id"]}) == 2


def test_copies_have_their_own_places_dates_and_tags(mongo, client):
    assert sum(volume.load(20, now(), distinct=5)) == 20
    nodes = list(mongo["cms.nodes"].find({"metadata.type": {"$in": ["blog-entry", "basic-page"]}}).sort("_id", 1))
    posts = [node["metadata"] for node in nodes]
    assert len(posts) == 20
    assert [post["title"] for post in posts[5:10]] == [post["title"] for post in posts[:5]]
    assert [post["type"] for post in posts[5:10]] == [post["type"] for post in posts[:5]]
    assert len({post["slug"] for post in posts}) == len({post["nonce"] for post in posts}) == 20
    assert len({post["created"] for post in posts}) == 20
    public = next(node for node in nodes[5:] if node["metadata"]["published"])
    assert client.get(stored_nodes.get(public["_id"]).get_absolute_url()).status_code == 200
    assert "by_place" in mongo["cms.nodes"].index_information()
