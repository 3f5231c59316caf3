"""setup_indexes: the plan, its application, what it leaves alone, what it refuses."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from mongo import indexes
from mongo.collections import Collection, Declared, Index

NAME = "trial"
BY_A = Index("by_a", (("a", 1),))


@pytest.fixture
def declare(mongo, monkeypatch):
    """Declare one collection, in place of all others; dropped after the test."""

    def declare(*built: Index, **options) -> None:
        for module in ("mongo.indexes", "mongo.status", "mongo.validators"):
            monkeypatch.setattr(f"{module}.declared", lambda: [Declared("default", Collection(NAME, built, **options))])

    yield declare
    mongo.drop_collection(NAME)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("setup_indexes", *arguments, stdout=out)
    return out.getvalue()


def test_plan_names_all_that_is_missing_and_does_nothing(mongo, declare):
    declare(BY_A, Index("by_b", (("b.c", -1),), unique=True), validator={"required": ["a"]})
    assert run("--plan").splitlines() == [
        "+ trial: collection",
        "+ trial: index by_a (a)",
        "+ trial: unique index by_b (b.c -1)",
        "+ trial: validator",
        "4 changes to make.",
    ]
    assert NAME not in mongo.list_collection_names()


def test_after_applying_the_plan_is_empty(mongo, declare):
    declare(
        BY_A,
        Index("partial", (("b", 1),), partial={"b": {"$gt": 1}}),
        Index("ttl", (("c", 1),), expire_after_seconds=60),
        Index("sparse", (("d", 1),), sparse=True),
        Index("words", (("e", "text"), ("f", "text")), options={"default_language": "none"}),
        Index("hashed", (("g", "hashed"),)),
        validator={"bsonType": "object"},
    )
    assert "8 changes made." in run()
    assert run("--plan") == "Nothing to do.\n"
    assert "0 changes made." in run()


def test_dropped_and_stray_indexes_are_named(mongo, declare):
    declare(BY_A)
    run()
    mongo[NAME].drop_index("by_a")
    mongo[NAME].create_index("stray")
    plan = run("--plan")
    assert "+ trial: index by_a (a)" in plan
    assert "- trial: index stray_1, which nobody declares" in plan
    run()
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a", "stray_1"}
    run("--drop-unknown")
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a"}


def test_indexes_of_shared_collections_are_left_alone(mongo, declare):
    declare(BY_A, shared=True)
    mongo[NAME].create_index("stray")
    run("--drop-unknown")
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a", "stray_1"}


def test_changed_index_is_built_before_the_old_one_goes(mongo, declare, commands):
    declare(BY_A)
    run()
    declare(Index("by_a", (("a", 1), ("b", 1))))
    with commands.recorded():
        assert "~ trial: index by_a (a, b)" in run()
    assert [n for n in commands.names if n in ("createIndexes", "dropIndexes")] == ["createIndexes", "dropIndexes"]
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a_2"}
    assert run("--plan") == "Nothing to do.\n"


def test_changed_expiry_is_changed_in_place(mongo, declare):
    declare(Index("ttl", (("c", 1),), expire_after_seconds=60))
    run()
    declare(Index("ttl", (("c", 1),), expire_after_seconds=90))
    assert "~ trial: index ttl: documents expire after 90 s" in run()
    assert mongo[NAME].index_information()["ttl"]["expireAfterSeconds"] == 90


def test_unique_index_that_cannot_be_built_names_the_documents(mongo, declare):
    mongo[NAME].insert_many([{"_id": n, "a": n // 2} for n in range(4)])
    declare(Index("by_a", (("a", 1),), unique=True))
    with pytest.raises(CommandError, match=r"(?s)unique index by_a .* cannot be built.*\(0\): 2 documents, 0, 1"):
        run()
    assert set(mongo[NAME].index_information()) == {"_id_"}


def test_documents_that_violate_a_validator_are_listed(mongo, declare):
    declare(validator={"required": ["a"]})
    mongo[NAME].insert_many([{"_id": "good", "a": 1}, {"_id": "bad"}])
    out = StringIO()
    with pytest.raises(CommandError, match="1 documents violate"):
        call_command("setup_indexes", "--check", stdout=out)
    assert out.getvalue() == "trial: bad\n"
    mongo[NAME].delete_one({"_id": "bad"})
    assert run("--check") == "Every stored document is valid.\n"


def test_status_shows_size_and_use(mongo, declare):
    declare(BY_A)
    run()
    mongo[NAME].create_index("stray")
    mongo[NAME].insert_one({"a": 1})
    list(mongo[NAME].find({"a": 1}).hint("by_a"))
    lines = {line.split()[1]: line for line in run("--status").splitlines() if line.startswith(NAME)}
    assert "used 1 times" in lines["by_a"]
    assert "never used" in lines["stray_1"]
    assert "nobody declares it" in lines["stray_1"]


def test_only_the_named_collection_is_planned(mongo):
    mongo["auth_group"].drop_index("by_name")
    assert run("--plan", "--collection", "auth_user") == "Nothing to do.\n"
    assert "auth_group" in run("--collection", "auth_group")


def test_what_the_apps_declare_is_what_exists(mongo):
    assert [str(change) for change in indexes.plan()] == []
