"""A pytest plugin for sites. All tests run on a real, temporary MongoDB server. The plugin requires pytest-django.

Enable the plugin in the site's top-level conftest.py:

    pytest_plugins = ["cms.testing.plugin"]
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, connections
from django.test.utils import setup_databases, teardown_databases
from pymongo.database import Database

from cms.testing.database import empty
from cms.testing.editors import Editor
from cms.testing.process_caches import clear_caches
from cms.testing.settings import URI
from marginalia.mongo import indexes
from marginalia.mongo.connection import database
from marginalia.testing.mongod import EphemeralMongod

SERVER = pytest.StashKey[EphemeralMongod]()


def pytest_configure(config: pytest.Config) -> None:
    """Start one server for all workers. The workers read the server's URI from the environment."""
    if URI not in os.environ:
        config.stash[SERVER] = server = EphemeralMongod(journaled=False)
        os.environ[URI] = server.start()
    connections.settings["default"]["HOST"] = os.environ[URI]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server."""
    if server := config.stash.get(SERVER, None):
        server.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Reject tests that use pytest-django's mark `django_db` or its database fixtures.

    The mark and the fixtures empty every collection after a test, even collections that migrations have filled.
    """
    fixtures = {"db", "transactional_db", "admin_client", "admin_user", "live_server"}
    refused = [
        item.nodeid
        for item in items
        if item.get_closest_marker("django_db") or fixtures & set(getattr(item, "fixturenames", ()))
    ]
    if refused:
        raise pytest.UsageError(f"Use the fixture `mongo` instead of pytest-django's: {', '.join(refused[:5])}")


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: Any, django_db_modify_db_settings: None
) -> Iterator[None]:
    """Create the test database. pytest-django wouldn't create it, because no test has the django_db mark."""
    with django_db_blocker.unblock():
        state = setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
        indexes.ensure()
    yield
    with django_db_blocker.unblock():
        teardown_databases(state, verbosity=0)


@pytest.fixture(autouse=True, scope="session")
def _never_the_real_database(django_db_setup: None) -> None:
    assert connection.settings_dict["NAME"].startswith("test_")


@pytest.fixture
def mongo(django_db_setup: None, django_db_blocker: Any) -> Iterator[Database[dict[str, Any]]]:
    """Return the test database, with empty process caches.

    After the test, all collections are emptied, including GridFS and collections without a model.
    """
    with django_db_blocker.unblock():
        assert database().name.startswith("test_")
        clear_caches()
        yield database()
        empty(database())


@pytest.fixture
def editor(mongo: Any) -> Callable[..., Editor]:
    """Return a function that creates editors by name. Editors without `permissions` are superusers."""

    def create(name: str = "ann", **permissions: Any) -> Editor:
        options = permissions or {"is_superuser": True}
        return Editor(get_user_model().objects.create_user(name, f"{name}@example.org", "pw", is_staff=True, **options))

    return create
