"""Every test runs on a real mongod: a throw-away one, on a database whose name begins with test_."""

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
from tests.support.kept import forget
from tests.support.nodes.build import node
from tests.support.nodes.content import Chapter, Handbook, News, registered
from tests.support.nodes.editors import Editor
from tests.support.throwaway import EphemeralMongod


def pytest_configure(config: pytest.Config) -> None:
    """Start one server for all workers; they find it through the environment."""
    if URI not in os.environ:
        config.stash[SERVER] = server = EphemeralMongod(journaled=False)
        os.environ[URI] = server.start()
    connections.settings["default"]["HOST"] = os.environ[URI]


def pytest_unconfigure(config: pytest.Config) -> None:
    if server := config.stash.get(SERVER, None):
        server.stop()


SERVER = pytest.StashKey[EphemeralMongod]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The stock mark, and what stands on it, empties every collection after a test: those that migrations filled, too."""
    stock = {"db", "transactional_db", "admin_client", "admin_user", "live_server"}
    marked = [item.nodeid for item in items if item.get_closest_marker("django_db") or stock & set(item.fixturenames)]
    if marked:
        raise pytest.UsageError(f"Use the fixture `mongo` in place of pytest-django's: {', '.join(marked[:5])}")


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment, django_db_blocker, django_db_modify_db_settings) -> Iterator[None]:
    """Always make the test database: pytest-django skips it when no test has the django_db mark."""
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
    """The test database; emptied after the test, collections that no model knows and GridFS included. Nothing that another test
    left in the process is shown."""
    with django_db_blocker.unblock():
        assert database().name.startswith("test_")
        forget()
        yield database()
        empty(database())


@pytest.fixture
def group(mongo) -> Iterator[Callable[[str], Group]]:
    """A function that makes a group for the test: those that migrations made stay, and no other beside them."""
    made: list[Group] = []

    def make(name: str) -> Group:
        made.append(Group.objects.create(name=name))
        return made[-1]

    yield make
    for one in made:
        one.delete()


@pytest.fixture
def commands(mongo) -> Iterator[CommandLog]:
    """The MongoDB commands sent during a `with commands.recorded():` block, from every client of this process."""
    return CommandLog()


@pytest.fixture
def post_page(mongo, rules) -> Target:
    """A published post that takes comments from everybody at once."""
    return site.entry()


@pytest.fixture
def rules(settings):
    """A function that changes COMMENTS for the test; at first no comment waits, and tests may type fast."""

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
    """Make an editor: editor("ann"), editor("bob")."""

    def make(name: str = "ann", **rights: Any) -> Editor:
        rights = rights or {"is_superuser": True}
        return Editor(get_user_model().objects.create_user(name, f"{name}@example.org", "pw", is_staff=True, **rights))

    return make


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what tests say that they did: `record_property("did", ["a line", ...])`. The reader sees that they did it."""
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
    """The id of a handbook: what stands in it is ordered by hand."""
    with registered(Handbook, Chapter, News):
        yield node("handbook", "book")


@pytest.fixture
def chapters(book) -> list[ObjectId]:
    """The ids of its chapters a to e."""
    return [node("chapter", slug, parent=book) for slug in "abcde"]
