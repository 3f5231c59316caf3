import pytest
from django.test import Client

from tests.support.nodes.photo_forms import user


@pytest.fixture
def editor(client) -> Client:
    """The browser of a user who edits and publishes."""
    client.force_login(user("publish_node", "change_node"))
    return client
