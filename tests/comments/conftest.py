import pytest
from bson import ObjectId
from django.contrib.auth.models import User
from django.test import Client

from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, Target
from tests.support.comments import site
from tests.support.comments.holders import account


@pytest.fixture
def ann(mongo) -> User:
    return User.objects.create_user("ann", "ann@example.org", "secret", first_name="Ann")


@pytest.fixture
def target(mongo) -> Target:
    """An account with a discussion, as stored."""
    key = ObjectId()
    mongo.auth_user.insert_one(account(key))
    return Target("auth.user", str(key))


@pytest.fixture
def subscribed(client, post_page) -> Comment:
    """A comment whose author confirmed notifications of replies."""
    site.post(client, post_page, "Ask me", email="ann@example.org", notify="on")
    site.work()
    Client().post(site.last_link("subscribe"))
    return list(selectors.iterate(post_page))[0]
