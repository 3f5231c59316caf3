import pytest

from nodes.types import Actor


@pytest.fixture
def ann() -> Actor:
    return Actor(None, "Ann")


@pytest.fixture
def bob() -> Actor:
    return Actor(None, "Bob")
