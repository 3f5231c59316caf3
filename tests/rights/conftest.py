from collections.abc import Iterator

import pytest

from cms.testing.database import empty
from marginalia.mongo.connection import database
from tests.rights.world import World


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker) -> Iterator[World]:
    """One site for all cells of a module. Cells that change something create it themselves."""
    with django_db_blocker.unblock():
        assert database().name.startswith("test_")
        yield World()
        empty(database())
