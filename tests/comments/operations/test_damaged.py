"""A discussion with a document damaged by other software: audits report it, and no page fails."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from marginalia.comments.backends.discussions import Discussions, Intent
from marginalia.comments.backends.layouts import storage_of
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Target
from marginalia.mongo.connection import database
from marginalia.mongo.management.base import FOUND_PROBLEMS
from tests.support.comments import site

HEALTHY = Target("nodes.node", "f" * 24)


@pytest.fixture
def damaged(mongo, post_page):
    """A discussion without its layout, and a healthy one."""
    site.post_directly(post_page, "Said before")
    mongo.command("collMod", "discussions", validationLevel="off")
    mongo.discussions.update_one({"_id": post_page.id}, {"$unset": {"schema": ""}})
    healthy = {**mongo.discussions.find_one(), "_id": HEALTHY.id, "schema": "documents", "count": 0}
    mongo.discussions.insert_one({**healthy, "last_number": 0})
    yield post_page
    call_command("setup_indexes", stdout=StringIO())


def test_audit_reports_the_damaged_discussion_and_continues(damaged):
    out = StringIO()
    with pytest.raises(CommandError) as raised:
        call_command("check_comments", "--json", stdout=out)
    assert raised.value.returncode == FOUND_PROBLEMS
    report = json.loads(out.getvalue())
    assert report["counts"]["discussions"] == 2
    (fault,) = [fault for fault in report["findings"] if fault["kind"] == "damaged"]
    assert (fault["discussion"], fault["repairable"]) == (str(damaged), False)
    assert "schema" in fault["what"]


def test_worker_continues_with_the_other_discussions(mongo, damaged, caplog):
    Discussions(database(), storage_of).claim(HEALTHY, Intent("a" * 16, "a" * 16, "post", number=True, delta=1))
    (left,) = mongo.discussions.find_one({"_id": HEALTHY.id})["claims"]
    left["at"] -= timedelta(days=1)
    mongo.discussions.update_many({}, {"$set": {"claims": [left]}})
    assert maintenance.tidy() == 1
    assert mongo.discussions.find_one({"_id": HEALTHY.id})["claims"] == []
    assert f"The upkeep of the discussion {damaged} failed" in caplog.text


def test_conversion_reports_the_damaged_one_and_continues(mongo, damaged):
    err = StringIO()
    with pytest.raises(CommandError, match="1 discussions could not be converted") as raised:
        call_command("convert_comments", "--to", "buckets", stdout=StringIO(), stderr=err)
    assert raised.value.returncode == FOUND_PROBLEMS
    assert str(damaged) in err.getvalue()
    assert mongo.discussions.find_one({"_id": HEALTHY.id})["schema"] == "buckets"


def test_page_of_the_damaged_discussion_shows_a_notice(damaged, client):
    page = client.get("/news/hello")
    assert page.status_code == 200
    assert "Comments can't be shown right now." in page.content.decode()
    assert client.get("/news").status_code == 200
    assert client.get("/").status_code == 200
