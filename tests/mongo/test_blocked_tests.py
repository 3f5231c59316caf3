"""Tests of a project that uses the engine: database access blocked by pytest-django or Django."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
# The project's real databases. Tests may write to "test_" + name only.
NAME = "blocked_{kind}"
SETTINGS = """
import os
SECRET_KEY = "only for this test"
INSTALLED_APPS = ["marginalia.comments", "marginalia.mongo", "django_mongodb_backend"]
USE_TZ = True
ROOT_URLCONF = "urls"
SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}
MONGODB = {"ENGINE": "marginalia.mongo.engine", "NAME": os.environ["NAME"], "HOST": os.environ["TEST_MONGODB_URI"]}
if os.environ["KIND"] == "sqlite":
    DATABASES = {"default": SQLITE, "mongo": MONGODB}
else:
    DATABASES = {"default": MONGODB, "mongo": {**MONGODB, "NAME": MONGODB["NAME"] + "_other"}}
DEFAULT_AUTO_FIELD = "django_mongodb_backend.fields.ObjectIdAutoField"
COMMENTS = {"DATABASE": "mongo"}
DATABASE_ROUTERS = ["marginalia.comments.operations.routers.CommentsRouter"]
"""
# pytest-django runs the marked tests first, in this order. Later ones find the connections open.
TESTS = """
import pytest
from django.test import SimpleTestCase, TestCase, TransactionTestCase
from marginalia.comments.models import StoredComment
from marginalia.mongo.connection import client, database

def write():
    database("mongo")["things"].insert_one({})

def write_by_its_client():
    client("mongo")["blocked_anything"]["things"].insert_one({})

def read_models():
    list(StoredComment.objects.using("mongo").all()[:1])

@pytest.mark.django_db(databases=["default", "mongo"])
def test_of_both_databases_writes():
    write()

class Allowed(TransactionTestCase):
    databases = "__all__"

    def test_writes(self):
        write()
        read_models()

class Simple(SimpleTestCase):
    def test_writes(self):
        write()

    def test_writes_by_its_client(self):
        write_by_its_client()

    def test_reads_models(self):
        read_models()

class Default(TestCase):
    def test_writes(self):
        write()

    def test_reads_models(self):
        read_models()

def test_unmarked_writes():
    write()

def test_unmarked_writes_by_its_client():
    write_by_its_client()

def test_unmarked_reads_models():
    read_models()

@pytest.mark.django_db
def test_of_the_default_database_writes():
    write()
"""
ALLOWED = {"Allowed.test_writes", "test_of_both_databases_writes"}
DEFAULT = """
from django.test import SimpleTestCase
from marginalia.mongo.connection import database

class First(SimpleTestCase):
    def test_writes(self):
        database("mongo")["things"].insert_one({})
"""


@pytest.fixture(params=["sqlite", "mongodb"])
def project(request, tmp_path, mongo):
    """Write a project with a default database of this kind.

    Return a function that runs its tests and returns the passed ones.
    """
    kind = request.param
    name = NAME.format(kind=kind)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "KIND": kind, "NAME": name}
    env |= {"DJANGO_SETTINGS_MODULE": "settings", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTEST_ADDOPTS": ""}
    env.pop("PYTEST_XDIST_WORKER", None)
    for file, text in {"settings.py": SETTINGS, "urls.py": "urlpatterns = []", "pytest.ini": "[pytest]\n"}.items():
        (tmp_path / file).write_text(text)

    def run(text, *options):
        (tmp_path / "test_project.py").write_text(text)
        words = [sys.executable, "-m", "pytest", "-q", "--junitxml=results.xml", *options, "test_project.py"]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        cases = ElementTree.parse(tmp_path / "results.xml").iter("testcase")
        return {_name(case): [error.get("message") for error in case] for case in cases}

    yield run
    made = [there for there in mongo.client.list_database_names() if "blocked_" in there]
    for database in made:
        mongo.client.drop_database(database)
    assert [database for database in made if not database.startswith("test_")] == []


def _name(case):
    return ".".join([*case.get("classname").split(".")[1:], case.get("name")])


@pytest.mark.slow
def test_blocked_tests_do_not_reach_mongodb(project):
    results = project(TESTS)
    assert {name for name, errors in results.items() if not errors} == ALLOWED, results
    assert len(results) == 11
    refused = {name: errors for name, errors in results.items() if name not in ALLOWED}
    assert {name for name, (error,) in refused.items() if "not allowed" not in error} == set()


@pytest.mark.slow
def test_blocked_test_does_not_connect(project):
    ((error,),) = project(DEFAULT).values()
    assert "not allowed" in error
