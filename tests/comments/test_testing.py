"""The tests of docs/how-to/test-comments.md, run in a project on SQLite and in one on MongoDB."""

import os
import re
import subprocess
import sys
from textwrap import dedent

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.test import TestCase

from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo import rate_limit
from marginalia.testing import MarginaliaTestMixin, check_test_databases, empty_collections, run_tasks
from tests.support.comments.shop_project import ROOT, write_project
from tests.tasks import examples

PAGE = (ROOT / "docs/how-to/test-comments.md").read_text()
EXAMPLES = {
    name: dedent(text)
    for _, name, text in re.findall(r'^( *)```\w+ title="(\S+)"\n(.*?)^\1```$', PAGE, re.DOTALL | re.MULTILINE)
}
# More than the rate limit allows. pytest runs them before the page's tests, and Django after them.
MANY = """
import pytest
from django.conf import settings
from django.test import TestCase, override_settings
from django.urls import reverse
from marginalia.comments import targets
from marginalia.comments.reading import selectors
from marginalia.mongo import collections
from marginalia.mongo.connection import database
from marginalia.testing import MarginaliaTestMixin, run_tasks
from marginalia.tasks.backend import databases
from shop.models import Item

QUICK = {**settings.COMMENTS, "MIN_SECONDS": 0}

def stored():
    return {
        item.collection.name: number
        for item in collections.mongodb_collections()
        if (number := database(item.alias)[item.collection.name].count_documents({}))
    }

def send(client):
    assert stored() == {}
    item = Item.objects.create(name="Cup")
    form = client.get(reverse("comments-form", args=["shop.item", item.pk])).context["form"]
    fields = {"token": form["token"].value(), "name": "Ann", "text": "Hello"}
    response = client.post(reverse("comments-post-comment"), fields)
    assert response.status_code == 302, response.content
    assert set(stored()) == {"comments.pending", "comments.ip_hashes", "discussions", "jobs", "rate_limits"}
    (alias,) = databases()
    assert "by_slug" in database(alias)["comments"].index_information()

class ManyTest(MarginaliaTestMixin, TestCase):
    pass

for number in range(10):
    setattr(ManyTest, f"test_{number}", override_settings(COMMENTS=QUICK)(lambda self: send(self.client)))

@pytest.mark.marginalia_db
@pytest.mark.parametrize("number", range(10))
def test_mark(number, client, settings):
    settings.COMMENTS = QUICK
    send(client)

@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", range(10))
def test_fixture(number, marginalia_db, client, settings):
    settings.COMMENTS = QUICK
    send(client)
"""
# Real data, which tests must not change.
REAL = """
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor
from marginalia.mongo import rate_limit
from marginalia.comments import conf
from shop.models import Item
item = Item.objects.create(name="Real")
services.post(item, author=CommentAuthor("Ann"), source="Real", token="1")
rate_limit.allow("real", limit=1, seconds=10_000, token="1", alias=conf.database_alias())
"""


@pytest.fixture(params=["sql", "mongodb"])
def run(request, tmp_path, mongo):
    """Write the project, with real data; return a function that runs Python in it, and returns the exit code and output."""
    kind = request.param
    name = f"testing_{kind}_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_shop"
    project = tmp_path / kind
    write_project(project, kind, database=name, files={**EXAMPLES, "test_many.py": MANY})
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    env |= {"MONGODB_URI": os.environ["TEST_MONGODB_URI"], "DJANGO_SETTINGS_MODULE": "settings"}

    def run(*words):
        done = subprocess.run(
            [sys.executable, *words], cwd=project, env=env, capture_output=True, text=True, check=False, timeout=300
        )
        return done.returncode, done.stdout + done.stderr

    for words in (
        *([("makemigrations", "auth", "contenttypes")] if kind == "mongodb" else []),
        ("makemigrations", "shop"),
        ("migrate",),
        ("shell", "-c", REAL),
    ):
        code, output = run("manage.py", *words)
        assert code == 0, output
    before = contents(mongo.client, name)
    assert any(before.values())
    yield run
    after = contents(mongo.client, name)
    made = [other for other in mongo.client.list_database_names() if name in other]
    for database in made:
        mongo.client.drop_database(database)
    assert after == before
    assert [database for database in made if not database.startswith(name)] == [], "test databases that are left"


def contents(client, prefix):
    """Return the documents of all databases whose names begin with `prefix`."""
    return {
        (database, collection): list(client[database][collection].find())
        for database in client.list_database_names()
        if database.startswith(prefix)
        for collection in client[database].list_collection_names()
    }


@pytest.mark.slow
def test_project_tests_pass_and_leave_real_data(run):
    code, output = run("manage.py", "test", "--noinput", "--reverse")
    assert code == 0, output
    assert "Ran 13 tests" in output
    code, output = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers")
    assert code == 0, output
    assert "35 passed" in output

    # Without a test runner, nothing creates test databases.
    code, output = run("-c", "import django, unittest; django.setup(); unittest.main('shop.tests', argv=['test'])")
    assert code == 1, output
    assert "which isn't a test database. Nothing was changed." in output
    assert "Ran 0 tests" in output


@pytest.fixture
def stored(mongo):
    """A comment, a task, a rate limit and an account."""
    services.post(Target("auth.user", "1"), author=CommentAuthor("Ann"), source="Hello", token="1")
    examples.seen.clear()
    examples.note.enqueue(1)
    rate_limit.allow("ann", limit=1, seconds=600, token="1")
    User.objects.create_user("ann")


def test_comments_tasks_and_rate_limits_are_emptied(mongo, stored):
    empty_collections()
    names = ("discussions", "comments", "jobs", "rate_limits")
    assert [mongo[name].count_documents({}) for name in names] == [0, 0, 0, 0]
    assert User.objects.get().username == "ann", "Django's test cases delete accounts"


def test_due_tasks_are_run_and_counted(stored):
    assert run_tasks() == 1
    assert examples.seen == [1]
    assert run_tasks() == 0


@pytest.mark.parametrize(
    ("name", "test_name"), [("shop", None), ("test_shop", "shop_tests"), ("shop_tests_real", "shop_tests")]
)
def test_other_than_test_database_is_refused(mongo, stored, monkeypatch, name, test_name):
    monkeypatch.setitem(connections["default"].settings_dict, "NAME", name)
    monkeypatch.setitem(connections["default"].settings_dict, "TEST", {"NAME": test_name})
    with pytest.raises(ImproperlyConfigured, match=f"'default' uses the database '{name}', which isn't a test"):
        empty_collections()
    assert mongo.rate_limits.count_documents({}) == 1


@pytest.mark.parametrize(("name", "test_name"), [("test_shop", None), ("shop_tests", "shop_tests")])
def test_test_database_is_accepted(mongo, monkeypatch, name, test_name):
    monkeypatch.setitem(connections["default"].settings_dict, "NAME", name)
    monkeypatch.setitem(connections["default"].settings_dict, "TEST", {"NAME": test_name})
    check_test_databases()


def test_mixin_adds_the_connection_of_comments(monkeypatch):
    monkeypatch.setattr("marginalia.testing.mongodb_aliases", lambda: ["mongo"])

    class Mixin(MarginaliaTestMixin):
        pass

    class Default(Mixin, TestCase):
        pass

    class All(MarginaliaTestMixin, TestCase):
        databases = "__all__"

    assert (Default.databases, All.databases) == ({"default", "mongo"}, "__all__")
    assert TestCase.databases == {"default"}
