"""A pytest plugin with a `marginalia_db` fixture and marker. The plugin requires pytest-django.

Enable the plugin in the project's top-level conftest.py:

    pytest_plugins = ["marginalia.testing.plugin"]
"""

from collections.abc import Iterator

import pytest
from django.db import DEFAULT_DB_ALIAS

from marginalia.mongo.collections import mongodb_aliases
from marginalia.testing import empty_collections, prepare_databases

NAME = "marginalia_db"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the `marginalia_db` marker."""
    config.addinivalue_line(
        "markers", f"{NAME}: start without comments, pending comments, tasks and rate limits, in test databases"
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Add pytest-django's `django_db` marker to tests that use `marginalia_db`, so that they can use the databases."""
    if NAME not in getattr(item, "fixturenames", ()) and not item.get_closest_marker(NAME):
        return
    existing = item.get_closest_marker("django_db")
    options = dict(existing.kwargs) if existing else {}
    databases = options.get("databases") or [DEFAULT_DB_ALIAS]
    if databases != "__all__":
        options["databases"] = list(dict.fromkeys([*databases, *mongodb_aliases()]))
    item.add_marker(pytest.mark.django_db(**options), append=False)


@pytest.fixture
def marginalia_db(db: None) -> Iterator[None]:
    """Start the test without comments, pending comments, tasks or rate limits.

    After the test, delete the comments, tasks and rate limits that the test stored.
    """
    prepare_databases()
    yield
    empty_collections()


@pytest.fixture(autouse=True)
def _marginalia_db_marker(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker(NAME):
        request.getfixturevalue(NAME)
