import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from marginalia.mongo.clock import now
from marginalia.tasks import queue
from tests.tasks import examples


@pytest.fixture(autouse=True)
def no_running_loop() -> Iterator[None]:
    """Run without the event loop that Playwright leaves in this thread if browser tests ran before in this process."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)


@pytest.fixture
def seen():
    """The arguments of the task `note`."""
    examples.seen.clear()
    return examples.seen


@pytest.fixture
def clock(monkeypatch):
    """A function that advances the queue's clock."""
    ahead = timedelta()

    def move(step):
        nonlocal ahead
        ahead += step

    monkeypatch.setattr(queue, "now", lambda: now() + ahead)
    return move
