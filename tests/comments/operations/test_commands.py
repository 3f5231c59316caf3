"""convert_comments and check_comments: output and effects."""

from datetime import timedelta
from io import StringIO

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command

from marginalia.comments.backends.discussions import Intent
from marginalia.comments.types import Order, Target
from marginalia.mongo.clock import now
from tests.support.comments.layouts import configure, lively
from tests.support.comments.making import new

# target is a fixture.


def run(*args):
    out = StringIO()
    call_command(*args, stdout=out, stderr=out)
    return out.getvalue().splitlines()


def test_all_discussions_are_converted_and_rerun_does_nothing(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    backend.post(Target("nodes.node", str(ObjectId())), new("other"))
    count = backend.discussion(target).count
    told = run("convert_comments", "--to", "buckets", "--order", "threaded", "--dry-run")
    assert told[-1] == f"2 discussions would be converted ({count + 1} comments). 0 already had this layout and order."
    assert backend.discussion(target).layout == "documents"
    told = run("convert_comments", "--to", "buckets", "--order", "threaded", "--target", "auth.user")
    assert told[-1].startswith("1 discussions converted")
    told = run("convert_comments", "--to", "buckets", "--order", "threaded")
    assert told == ["1 discussions converted (1 comments). 1 already had this layout and order."]
    assert run("check_comments")[-1] == f"2 discussions with {count + 1} comments: 0 problems, 0 fixed."


def test_changing_only_the_order_keeps_each_layout(mongo, settings, target):
    backend = configure(settings)
    backend.post(target, new("one"))
    other = Target("nodes.node", str(ObjectId()))
    backend.post(other, new("other"))
    backend.convert(other, "buckets", Order.OLDEST)
    assert run("convert_comments", "--order", "threaded")[-1].startswith("2 discussions converted")
    found = [backend.discussion(one) for one in (target, other)]
    assert [(one.layout, one.order) for one in found] == [("documents", Order.THREADED), ("buckets", Order.THREADED)]
    with pytest.raises(CommandError, match="Specify --to"):
        run("convert_comments")


def test_failed_conversion_is_named_and_fails_the_command(mongo, settings, target):
    backend = configure(settings)
    backend.post(target, new("one"))
    with pytest.raises(CommandError, match="1 discussions could not be converted"):
        run("convert_comments", "--to", "embedded")
    with pytest.raises(CommandError, match="The discussion auth.user:1 doesn't exist"):
        run("convert_comments", "--to", "buckets", "--discussion", "auth.user:1")


def test_count_below_the_comments_is_repaired(mongo, settings, target):
    lively(configure(settings), target)
    right = mongo.discussions.find_one_and_update({"_id": target.id}, {"$inc": {"count": -3}})["count"]
    with pytest.raises(CommandError, match="1 problems remain"):
        run("check_comments")
    assert run("check_comments", "--fix")[-1].endswith("1 problems, 1 fixed.")
    assert mongo.discussions.find_one({"_id": target.id})["count"] == right


@pytest.mark.parametrize("written", [True, False])
def test_old_claim_is_committed_if_its_comment_is_stored(mongo, settings, target, written):
    backend = configure(settings)
    backend.post(target, new("one"))
    slug = "op" * 8
    claim = backend.store.discussions.claim(target, Intent("op", slug, "post", number=True, delta=1))
    if written:
        template = mongo.comments.find_one({}, {"_id": 0})
        mongo.comments.insert_one({**template, "slug": slug, "number": claim.number, "posted": claim.posted})
    long_ago = now() - timedelta(hours=1)
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"claims.0.at": long_ago}})
    backend.repair_claims(target)
    found = mongo.discussions.find_one({"_id": target.id})
    assert (found["claims"], found["count"]) == ([], 2 if written else 1)


def test_duplicate_and_misplaced_comments_are_reported(mongo, settings, target):
    backend = configure(settings, "buckets")
    lively(backend, target)
    bucket = mongo.comment_pages.find_one({"page": 1})
    mongo.comment_pages.update_one({"page": 2}, {"$push": {"comments": bucket["comments"][0]}})
    with pytest.raises(CommandError, match="problems remain"):
        run("check_comments", "--fix")
    kinds = [fault.description for fault in backend.audit(target)]
    assert any("twice" in what for what in kinds)
    assert any("belongs elsewhere" in what for what in kinds)
