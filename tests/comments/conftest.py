import pytest
from bson import ObjectId
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission, User
from django.test import Client

from comments.reading import selectors
from comments.types import Comment, Target
from tests.support.comments import site
from tests.support.comments.holders import account


@pytest.fixture
def post_page(mongo, rules) -> Target:
    """A published post that takes comments from everybody at once."""
    return site.entry()


@pytest.fixture
def rules(settings):
    """A function that changes COMMENTS for the test; at first no comment waits, and tests may type fast."""

    def change(**changes):
        settings.COMMENTS = {**settings.COMMENTS, **changes}

    settings.COMMENTS = {
        **django_settings.COMMENTS,
        "POLICY": "comments.posting.policy.stock",
        "MODE": "open",
        "MIN_SECONDS": 0,
        "RATE": (1000, 600),
    }
    return change


@pytest.fixture
def ann(mongo) -> User:
    return User.objects.create_user("ann", "ann@example.org", "secret", first_name="Ann")


@pytest.fixture
def moderator(mongo) -> User:
    user = User.objects.create_user("mona", "mona@example.org", "secret", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="can_moderate"))
    return user


@pytest.fixture
def target(mongo) -> Target:
    """An account that is discussed, as stored."""
    key = ObjectId()
    mongo.auth_user.insert_one(account(key))
    return Target("auth.user", str(key))


@pytest.fixture
def subscribed(client, post_page) -> Comment:
    """A comment whose author confirmed to want notices of replies."""
    site.post(client, post_page, "Ask me", email="ann@example.org", notify="on")
    site.work()
    Client().post(site.last_link("subscribe"))
    return list(selectors.iterate(post_page))[0]
