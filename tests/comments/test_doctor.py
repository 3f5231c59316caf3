"""The doctor on discussions."""

import socket
from datetime import timedelta

import pytest
from bson import ObjectId

from marginalia.comments.backends import backend
from marginalia.comments.backends.discussions import ABANDONED, Intent
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Order, Target
from marginalia.mongo import doctor
from marginalia.mongo.clock import now
from marginalia.mongo.doctor import ADVICE, ERROR, WARNING
from marginalia.tasks import worker
from tests.support.doctor import findings

LONG_AGO = timedelta(seconds=ABANDONED + 1)


def begun(target: Target, comments: int = 3) -> Target:
    for n in range(comments):
        services.post(target, author=CommentAuthor("Ann"), source=f"Text {n}", token=f"token {n}")
    return target


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("layout", ["documents", "embedded", "buckets"])
def test_healthy_discussion_has_no_findings(post_page, layout):
    begun(post_page)
    worker.tend()
    worker.follow()
    backend().convert(post_page, layout, Order.OLDEST)
    assert [finding for finding in doctor.examine() if finding.level != ADVICE] == []


@pytest.mark.slow
def test_stale_claim_is_reported(mongo, post_page):
    begun(post_page)
    backend().store.discussions.claim(post_page, Intent("op", "0" * 16, "post", number=True, delta=1))
    assert findings("stale-claim") == []
    mongo.discussions.update_one({"_id": post_page.id}, {"$set": {"claims.0.at": now() - LONG_AGO}})
    (finding,) = findings("stale-claim")
    assert (finding.level, finding.fix) == (WARNING, "Run manage.py check_comments --fix.")
    assert str(post_page) in finding.message


@pytest.mark.slow
def test_refusing_mail_server_is_an_error_in_production(mongo, settings):
    assert [finding for finding in doctor.examine(production=True) if finding.name == "mail-server"] == []
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings.EMAIL_HOST, settings.EMAIL_PORT = listening.getsockname()
    assert findings("mail-server") == []
    (finding,) = [finding for finding in doctor.examine(production=True) if finding.name == "mail-server"]
    assert (finding.level, "ConnectionRefusedError" in finding.message) == (ERROR, True)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("layout", ["documents", "embedded", "buckets"])
def test_wrong_counter_is_reported(mongo, post_page, layout):
    begun(post_page)
    backend().convert(post_page, layout, Order.OLDEST)
    mongo.discussions.update_one({"_id": post_page.id}, {"$inc": {"count": -1}})
    (finding,) = findings("counter-drift")
    assert (finding.level, finding.fix) == (WARNING, "Run manage.py check_comments --fix.")
    assert "its count is 2, but it has 3 comments" in finding.message


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("layout", ["documents", "embedded", "buckets"])
def test_lost_comment_is_an_error(mongo, post_page, layout):
    begun(post_page)
    backend().convert(post_page, layout, Order.OLDEST)
    mongo.discussions.update_one({"_id": post_page.id}, {"$inc": {"count": 1}})
    (finding,) = findings("comments-lost")
    assert (finding.level, finding.fix) == (
        ERROR,
        "Run manage.py check_comments, and restore the comments from a backup.",
    )
    assert "its count is 4, but it has 3 comments" in finding.message


def test_irreparable_damage_is_reported(mongo, post_page):
    begun(post_page)
    backend().convert(post_page, "documents", Order.OLDEST)
    mongo.comments.update_one({"number": 1}, {"$set": {"full_slug": "2026.01.01.00.00.00.000:" + "a" * 16}})
    assert "backup" in findings("comments-damaged")[0].fix


@pytest.mark.slow
def test_stopped_conversion_is_reported(mongo, post_page):
    begun(post_page)
    moving = {"to": "buckets", "order": "oldest", "id": ObjectId(), "renumber": False, "gate": None, "epoch": 2}
    mongo.discussions.update_one(
        {"_id": post_page.id}, {"$set": {"moving": {**moving, "beat": now()}, "last_epoch": 2}}
    )
    assert findings("stale-lease") == []
    mongo.discussions.update_one({"_id": post_page.id}, {"$set": {"moving.beat": now() - LONG_AGO}})
    (finding,) = findings("stale-lease")
    assert finding.fix == f"Run manage.py convert_comments --discussion {post_page} --to buckets."


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("layout", ["documents", "buckets"])
def test_discussion_without_its_document_is_reported(mongo, post_page, layout):
    begun(post_page)
    backend().convert(post_page, layout, Order.OLDEST)
    assert findings("discussion-gone") == []
    mongo.discussions.delete_one({"_id": post_page.id})
    found = {finding.where: finding for finding in findings("discussion-gone")}
    finding = found["comments" if layout == "documents" else "comment_pages"]
    assert finding.level == ERROR
    assert str(post_page) in finding.message
