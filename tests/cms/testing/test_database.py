"""The test database is emptied after each test, however many documents the test has stored."""

from datetime import UTC, datetime

from cms.testing.database import empty


def test_emptying_has_no_time_limit(mongo, commands):
    likes = mongo["comments.likes"]
    likes.insert_one({"discussion_id": "shop.item:1", "slug": "a", "who": "user:1", "at": datetime.now(UTC)})
    with commands.recorded():
        empty(mongo)
    (delete,) = [event.command for event in commands.sent if event.command_name == "delete"]
    assert "maxTimeMS" not in delete
    assert likes.count_documents({}) == 0
