"""Test support for projects that use the comments app or build a site.

Comments, the moderation queue, tasks and rate limits aren't Django models, so Django's test cases leave them in the
test database. `MarginaliaTestMixin` isolates tests that are based on Django's test cases. `marginalia.testing.plugin`
does the same for pytest. Both are explained in docs/how-to/test-comments.md.
"""

from functools import cache, partial
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.base.creation import TEST_DATABASE_PREFIX

from marginalia.mongo import indexes
from marginalia.mongo.collections import mongodb_aliases, mongodb_collections
from marginalia.mongo.connection import database
from marginalia.tasks import worker
from marginalia.tasks.backend import databases

__all__ = ["MarginaliaTestMixin", "check_test_databases", "empty_collections", "prepare_databases", "run_tasks"]


class MarginaliaTestMixin:
    """A mixin for subclasses of Django's SimpleTestCase, such as TestCase. Put it first in the list of base classes.

    Each test starts without comments, pending comments, tasks or rate limits. The connections that store this data are
    added to `databases`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # If the subclass is itself a mixin, it has no `databases` attribute, and there is nothing to extend.
        databases = getattr(cls, "databases", "__all__")
        if databases != "__all__":
            cls.databases = {*databases, *mongodb_aliases()}  # type: ignore[attr-defined]

    @classmethod
    def setUpClass(cls) -> None:
        """Prepare the test databases before `setUpTestData` can store comments."""
        prepare_databases()
        super().setUpClass()  # type: ignore[misc]

    def run(self, result: Any = None) -> Any:
        """Run the test, and empty the collections afterwards, even if a subclass doesn't call `super().tearDown()`."""
        try:
            return super().run(result)  # type: ignore[misc]
        finally:
            empty_collections()


def prepare_databases() -> None:
    """Empty the declared collections, and create their indexes and validators once per test run.

    Raises:
        ImproperlyConfigured: A connection doesn't use a test database. Nothing was changed.
    """
    empty_collections()
    for alias in mongodb_aliases():
        _create_indexes(alias, database(alias).name)


def empty_collections() -> None:
    """Delete all documents in the collections that the installed apps declare.

    The function doesn't empty collections that Django's migrations create, because Django's test cases empty those
    collections themselves.

    Raises:
        ImproperlyConfigured: A connection doesn't use a test database. Nothing was changed.
    """
    check_test_databases()
    for item in mongodb_collections():
        if not item.collection.shared:
            database(item.alias)[item.collection.name].delete_many({})


def check_test_databases() -> None:
    """Check that the connections with declared collections use test databases.

    Raises:
        ImproperlyConfigured: A connection doesn't use a test database.
    """
    for alias in mongodb_aliases():
        settings = connections[alias].settings_dict
        name, test_name = settings["NAME"], settings["TEST"]["NAME"]
        if not (name == test_name if test_name else name.startswith(TEST_DATABASE_PREFIX)):
            raise ImproperlyConfigured(
                f"The connection {alias!r} uses the database {name!r}, which isn't a test database. Nothing was changed. "
                "Run the tests with manage.py test or pytest-django."
            )


def run_tasks() -> int:
    """Run due tasks in this thread until none are left. Return the number of tasks that were run.

    If a task fails, it is stored with its error and becomes due again later, as in production.
    """
    return sum(1 for alias in databases() for _ in iter(partial(worker.work, alias), None))


@cache
def _create_indexes(alias: str, name: str) -> None:
    indexes.ensure(alias=alias)
