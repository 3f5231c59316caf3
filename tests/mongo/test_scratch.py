"""A temporary database: it is dropped at the end, and the doctor finds one that an interrupted command left."""

from datetime import timedelta

import pytest
from bson import ObjectId
from django.core.management.base import CommandError
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from marginalia.mongo import doctor
from marginalia.mongo.clock import now
from marginalia.mongo.connection import client, database
from marginalia.mongo.doctor import WARNING, capacity
from marginalia.mongo.management.scratch import scratch_database

pytestmark = pytest.mark.usefixtures("mongo")


@pytest.fixture
def others():
    """A function that lists the other databases that a test created. They are dropped at its end."""
    mark = f"{database().name}_scratch_"

    def made() -> set[str]:
        return {name for name in client().list_database_names() if mark in name}

    yield made
    for name in made():
        client().drop_database(name)


@pytest.mark.slow
def test_scratch_database_is_dropped_with_its_content(others):
    own = database().name
    with scratch_database():
        assert database().name != own
        assert others() == {database().name}
        database()["things"].insert_one({})
    assert (database().name, others()) == (own, set())


def test_user_without_permission_sees_the_needed_roles(others, monkeypatch):
    def refused():
        raise OperationFailure("not authorized", 13, {"lsid": "riddles"})

    monkeypatch.setattr("marginalia.mongo.indexes.ensure", refused)
    with (
        pytest.raises(CommandError, match="the roles readWriteAnyDatabase and dbAdminAnyDatabase.$"),
        scratch_database(),
    ):
        pass


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("code", "is_reported"), [(13, False), (215, True)])
def test_failed_drop_is_reported_unless_not_permitted(others, monkeypatch, code, is_reported):
    def refused(self, name):
        raise OperationFailure("refused", code)

    told = []
    monkeypatch.setattr(MongoClient, "drop_database", refused)
    try:
        with scratch_database():
            pass
    except OperationFailure as error:
        told.append(error.code)
    monkeypatch.undo()
    assert told == ([code] if is_reported else [])


def test_doctor_reports_databases_left_for_a_day(others):
    def findings():
        return list(capacity.scratch_databases(doctor.Examination("default", database(), (), production=False)))

    old, own = ObjectId.from_datetime(now() - timedelta(hours=25)), database().name
    client()[f"{own}_scratch_{ObjectId()}"]["things"].insert_one({})
    client()[f"not_{own}_scratch_{old}"]["things"].insert_one({})
    client()[f"{own}_scratch_words"]["things"].insert_one({})
    assert findings() == []
    client()[f"{own}_scratch_{old}"]["things"].insert_one({})
    (finding,) = findings()
    assert (finding.level, finding.name, finding.where) == (WARNING, "scratch-left", f"{own}_scratch_{old}")
    assert finding.where in finding.fix
