from datetime import timedelta

import pytest

from marginalia.mongo.clock import now
from marginalia.tasks import queue
from tests.tasks import examples


@pytest.fixture
def seen():
    """What the task `note` was given."""
    examples.seen.clear()
    return examples.seen


@pytest.fixture
def clock(monkeypatch):
    """A function that moves the queue's clock on."""
    ahead = timedelta()

    def move(step):
        nonlocal ahead
        ahead += step

    monkeypatch.setattr(queue, "now", lambda: now() + ahead)
    return move
