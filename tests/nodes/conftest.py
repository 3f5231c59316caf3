from collections.abc import Iterator

import pytest
from bson import ObjectId

from nodes.types import Actor
from tests.support.nodes.build import node
from tests.support.nodes.content import Chapter, Handbook, News, registered


@pytest.fixture
def ann() -> Actor:
    return Actor(None, "Ann")


@pytest.fixture
def bob() -> Actor:
    return Actor(None, "Bob")


@pytest.fixture
def book(mongo) -> Iterator[ObjectId]:
    """The id of a handbook: what stands in it is ordered by hand."""
    with registered(Handbook, Chapter, News):
        yield node("handbook", "book")


@pytest.fixture
def chapters(book) -> list[ObjectId]:
    """The ids of its chapters a to e."""
    return [node("chapter", slug, parent=book) for slug in "abcde"]
