"""Fixtures for all tests. Every test runs on a real, temporary mongod, in a database whose name begins with test_."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bson import ObjectId
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission, User
from django.db import connection, connections
from django.test.utils import setup_databases, teardown_databases

from marginalia.comments.types import Target
from marginalia.mongo import indexes
from marginalia.mongo.connection import database
from nodes.types import Actor
from tests.support.commands import CommandLog
from tests.support.comments import site
from tests.support.database import URI, empty
from tests.support.nodes.build import node
from tests.support.nodes.content import Chapter, Handbook, News, registered
from tests.support.nodes.editors import Editor
from tests.support.process_caches import clear_caches
from tests.support.throwaway import EphemeralMongod


def pytest_configure(config: pytest.Config) -> None:
    """Start one server for all workers, which read its URI from the environment."""
    if URI not in os.environ:
        config.stash[SERVER] = server = EphemeralMongod(journaled=False)
        os.environ[URI] = server.start()
    connections.settings["default"]["HOST"] = os.environ[URI]


def pytest_unconfigure(config: pytest.Config) -> None:
    if server := config.stash.get(SERVER, None):
        server.stop()


SERVER = pytest.StashKey[EphemeralMongod]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse pytest-django's mark `django_db` and its database fixtures.

    They empty every collection after a test, including those that migrations filled.
    """
    fixtures = {"db", "transactional_db", "admin_client", "admin_user", "live_server"}
    refused = [
        item.nodeid for item in items if item.get_closest_marker("django_db") or fixtures & set(item.fixturenames)
    ]
    if refused:
        raise pytest.UsageError(f"Use the fixture `mongo` instead of pytest-django's: {', '.join(refused[:5])}")


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment, django_db_blocker, django_db_modify_db_settings) -> Iterator[None]:
    """Always create the test database. pytest-django would skip it, because no test has the django_db mark."""
    with django_db_blocker.unblock():
        state = setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
        indexes.ensure()
    yield
    with django_db_blocker.unblock():
        teardown_databases(state, verbosity=0)


@pytest.fixture(autouse=True, scope="session")
def _never_the_real_database(django_db_setup) -> None:
    assert connection.settings_dict["NAME"].startswith("test_")


@pytest.fixture
def mongo(django_db_setup, django_db_blocker):
    """Return the test database, with empty process caches.

    After the test it is emptied, including GridFS and collections without a model.
    """
    with django_db_blocker.unblock():
        assert database().name.startswith("test_")
        clear_caches()
        yield database()
        empty(database())


@pytest.fixture
def group(mongo) -> Iterator[Callable[[str], Group]]:
    """Return a function that creates a group for the test. Groups created by migrations stay."""
    groups: list[Group] = []

    def create(name: str) -> Group:
        groups.append(Group.objects.create(name=name))
        return groups[-1]

    yield create
    for group in groups:
        group.delete()


@pytest.fixture
def commands(mongo) -> Iterator[CommandLog]:
    """Return a log of the MongoDB commands that this process sends during a `with commands.recorded():` block."""
    return CommandLog()


@pytest.fixture
def post_page(mongo, rules) -> Target:
    """Return a published post that accepts comments from everybody without moderation."""
    return site.entry()


@pytest.fixture
def rules(settings):
    """Return a function that changes COMMENTS for the test. Initially, no comment waits, and forms can be sent at once."""

    def change(**changes):
        settings.COMMENTS = {**settings.COMMENTS, **changes}

    settings.COMMENTS = {
        **django_settings.COMMENTS,
        "POLICY": "marginalia.comments.posting.policy.stock",
        "MODE": "open",
        "MIN_SECONDS": 0,
        "RATE": (1000, 600),
    }
    return change


@pytest.fixture
def moderator(mongo) -> User:
    user = User.objects.create_user("mona", "mona@example.org", "secret", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="can_moderate"))
    return user


@pytest.fixture
def editor(mongo):
    """Return a function that creates editors: editor("ann"), editor("bob"). Without `permissions` they are superusers."""

    def create(name: str = "ann", **permissions: Any) -> Editor:
        options = permissions or {"is_superuser": True}
        return Editor(get_user_model().objects.create_user(name, f"{name}@example.org", "pw", is_staff=True, **options))

    return create


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the lines that tests recorded with `record_property("did", ["a line", ...])`, as evidence of their work."""
    for reports in list(terminalreporter.stats.values()):
        for report in reports:
            for name, lines in getattr(report, "user_properties", ()) if getattr(report, "when", "") == "call" else ():
                if name == "did":
                    terminalreporter.write_line(f"{report.nodeid} did:")
                    for line in lines:
                        terminalreporter.write_line(f"    {line}")


@pytest.fixture
def ann() -> Actor:
    return Actor(None, "Ann")


@pytest.fixture
def bob() -> Actor:
    return Actor(None, "Bob")


@pytest.fixture
def book(mongo) -> Iterator[ObjectId]:
    """Return the id of a handbook, a section whose pages are ordered by hand."""
    with registered(Handbook, Chapter, News):
        yield node("handbook", "book")


@pytest.fixture
def chapters(book) -> list[ObjectId]:
    """Return the ids of the handbook's chapters a to e."""
    return [node("chapter", slug, parent=book) for slug in "abcde"]
