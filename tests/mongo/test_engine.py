"""The database engine: queries of the ORM use indexes, and migrate adopts existing collections."""

from importlib import import_module

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import authenticate, get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from pymongo.synchronous.topology import Topology

from cms.database.base import DatabaseWrapper
from marginalia.comments.models import StoredAuthor
from nodes.models import Byline
from tests.support.commands import explain, stages


def plans(commands, db):
    """Return the stages of every recorded read."""
    return [stages(explain(db, event)) for event in commands.sent if event.command_name in ("find", "aggregate")]


def test_login_uses_an_index(mongo, commands, rf):
    get_user_model().objects.create_user("ann", password="secret")
    with commands.recorded():
        assert authenticate(rf.post("/log-in"), username="ann", password="secret")
    assert [("COLLSCAN" in found, "IXSCAN" in found) for found in plans(commands, mongo)] == [(False, True)]


def test_session_is_found_by_an_index(mongo, commands):
    store = import_module(settings.SESSION_ENGINE).SessionStore()
    store["n"] = 1
    store.save()
    with commands.recorded():
        assert import_module(settings.SESSION_ENGINE).SessionStore(store.session_key)["n"] == 1
    assert all("IXSCAN" in found and "COLLSCAN" not in found for found in plans(commands, mongo))


def test_content_type_is_found_by_an_index(mongo, commands):
    ContentType.objects.clear_cache()
    with commands.recorded():
        ContentType.objects.get_by_natural_key("auth", "user")
    assert all("IXSCAN" in found and "COLLSCAN" not in found for found in plans(commands, mongo))


def test_order_by_is_served_by_an_index(mongo, commands):
    for name in ("b", "a", "c"):
        get_user_model().objects.create_user(name)
    with commands.recorded():
        names = [user.username for user in get_user_model().objects.order_by("-username")[:2]]
    (found,) = plans(commands, mongo)
    assert names == ["c", "b"]
    assert "SORT" not in found
    assert "IXSCAN" in found


def test_only_the_columns_of_the_model_are_fetched(mongo, commands):
    get_user_model().objects.create_user("ann")
    mongo.auth_user.update_one({"username": "ann"}, {"$set": {"unknown": "x" * 1000}})
    with commands.recorded():
        get_user_model().objects.get(username="ann")
    assert commands.sent[0].command["pipeline"][-1] == {
        "$project": {field.column: 1 for field in get_user_model()._meta.concrete_fields}
    }


@pytest.mark.parametrize("narrowed", ["only", "defer"])
def test_narrowed_query_fetches_its_fields_and_sorts_by_an_index(mongo, commands, narrowed):
    for name in ("b", "a"):
        get_user_model().objects.create_user(name, first_name=name * 2)
    others = [field.name for field in get_user_model()._meta.concrete_fields if field.name not in ("id", "username")]
    users = get_user_model().objects.order_by("username")
    with commands.recorded():
        ann, _bob = users.only("username") if narrowed == "only" else users.defer(*others)
    assert commands.sent[0].command["pipeline"][-1] == {"$project": {"_id": 1, "username": 1}}
    (found,) = plans(commands, mongo)
    assert "SORT" not in found
    assert (ann.username, ann.first_name) == ("a", "aa")


def test_embedded_models_with_a_key_have_no_warnings():
    assert [*Byline.check(), *StoredAuthor.check()] == []


def test_admin_list_with_a_join_works(mongo):
    user = get_user_model().objects.create_user("ann")
    LogEntry.objects.create(user=user, action_flag=1, object_repr="x", content_type=ContentType.objects.first())
    assert LogEntry.objects.select_related("user", "content_type").order_by("-action_time")[0].user.username == "ann"


def test_existing_collection_is_adopted(mongo):
    with connection.schema_editor() as editor:
        editor.get_database().create_collection("auth_user")
    assert "auth_user" in mongo.list_collection_names()


@pytest.mark.parametrize("kind", ["text", "hashed"])
def test_index_of_any_kind_is_introspected(mongo, kind):
    mongo.oddities.create_index([("field", kind)], name="odd")
    constraints = connection.introspection.get_constraints(None, "oddities")
    mongo.oddities.drop()
    assert constraints["odd"]["orders"][0] in {"TEXT", "HASHED"}


def test_connecting_does_not_query_the_server_version(mongo, monkeypatch):
    """Otherwise each process that starts during an outage would wait."""

    def asked(*arguments, **options):
        raise AssertionError("A server was asked.")

    wrapper = DatabaseWrapper(
        {**connection.settings_dict, "HOST": "mongodb://127.0.0.1:9/?replicaSet=none"}, alias="away"
    )
    with monkeypatch.context() as patched:
        patched.setattr(Topology, "select_servers", asked)
        assert wrapper.database.client.topology_description.topology_type_name == "ReplicaSetNoPrimary"
    wrapper.close_pool()
