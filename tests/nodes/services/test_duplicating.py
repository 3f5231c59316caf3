"""Copies of pages."""

import pytest
from bson import ObjectId

from cms.testing.build import node, nonce, stored
from nodes import errors
from nodes.services import drafts, duplicating


def test_copy_contains_nothing_specific_to_the_original(mongo, bob):
    """Comments in the node's own document and counters are not copied. The draft is, as the editor's latest text."""
    page = node(title="Page", text="Text", **{"detail.source": {"id": 7}})
    drafts.save_draft(bob, page, nonce(page), {"title": "Drafted", "detail.text": "More text"})
    beside = {"comments": [], "comments_epoch": 3, "views": {"2024-01": 9}}
    mongo["cms.nodes"].update_one({"_id": page}, {"$set": beside})
    copied = mongo["cms.nodes"].find_one({"_id": duplicating.duplicate(bob, page, parent_id=None).id})
    assert set(copied) == {"_id", "metadata", "derived"}
    assert (copied["metadata"]["title"], copied["metadata"]["detail"]["text"]) == ("Copy of Drafted", "More text")
    assert set(copied["metadata"]) == set(stored(page))
    drafted = mongo["cms.nodes"].find_one({"_id": page})["draft"]["metadata"]["detail"]
    assert set(copied["metadata"]["detail"]) == set(drafted) - {"source"}
    assert copied["metadata"]["nonce"] != nonce(page)
    assert mongo["cms.revisions"].count_documents({"node_id": copied["_id"]}) == 1


def test_copy_is_unpublished_and_made_once(mongo, bob):
    folder = node("folder", "folder")
    page, chosen = node(title="Page", text="Text", tags=("a",)), ObjectId()
    for _ in range(2):
        assert duplicating.duplicate(bob, page, parent_id=folder, new_id=chosen).id == chosen
    copy = stored(chosen)
    assert (copy["title"], copy["detail"]["text"], copy["tags"]) == ("Copy of Page", "Text", ["a"])
    assert (copy["published"], copy["author"]["name"], copy["parent_id"]) == (None, "Bob", folder)
    assert mongo["cms.nodes"].count_documents({}) == 3
    with pytest.raises(errors.InvalidPlace):
        duplicating.duplicate(bob, page, parent_id=node("blog", "blog"))
