"""Fixtures for all tests. Every test runs on a real, temporary mongod, in a database whose name begins with test_."""

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bson import ObjectId
from django.conf import settings as django_settings
from django.contrib.auth.models import Group, Permission, User

from cms.testing.build import node
from marginalia.comments.types import Target
from nodes.types import Actor
from tests.support.commands import CommandLog
from tests.support.comments import site
from tests.support.nodes.content import Chapter, Handbook, News, registered

pytest_plugins = ["cms.testing.plugin"]


def pytest_configure() -> None:
    """Collect garbage less often, because tests create few reference cycles compared with the modules in memory."""
    gc.set_threshold(100_000)


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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a test as slow if they come after the number of cases given by its mark `slow_after`."""
    cases: Counter[str] = Counter()
    for item in items:
        if mark := item.get_closest_marker("slow_after"):
            test = item.nodeid.partition("[")[0]
            cases[test] += 1
            if cases[test] > mark.args[0]:
                item.add_marker("slow")


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
