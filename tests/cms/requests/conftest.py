import pytest
from django.test import Client
from pymongo.errors import ServerSelectionTimeoutError

from nodes.models import stored_site


@pytest.fixture
def outage(mongo, monkeypatch):
    """Let the first read of every request fail as if no primary could be found."""

    def fail():
        raise ServerSelectionTimeoutError("no primary")

    monkeypatch.setattr(stored_site, "read", fail)


@pytest.fixture
def browser():
    return Client(raise_request_exception=False)
