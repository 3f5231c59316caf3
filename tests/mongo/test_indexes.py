"""setup_indexes: the plan, its application, what it keeps, and what it refuses."""

import json
from io import StringIO

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command
from gridfs import GridFSBucket
from pymongo.errors import OperationFailure, WriteError

from marginalia.mongo import indexes
from marginalia.mongo.collections import Collection, DeclaredCollection, Index, declared_collections
from marginalia.mongo.schemas import DATE, INTEGER, TEXT, array_of, document, one_of

NAME = "trial"
BY_A = Index("by_a", (("a", 1),))


@pytest.fixture
def declare(mongo, monkeypatch):
    """Declare one collection instead of all declared ones. It is dropped after the test."""

    def declare(*built: Index, **options) -> None:
        monkeypatch.setattr(
            "marginalia.mongo.collections.declared_collections",
            lambda: [DeclaredCollection("default", Collection(NAME, built, **options))],
        )

    yield declare
    mongo.drop_collection(NAME)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("setup_indexes", *arguments, stdout=out)
    return out.getvalue()


def test_plan_lists_everything_missing_and_changes_nothing(mongo, declare):
    declare(BY_A, Index("by_b", (("b.c", -1),), unique=True), validator={"required": ["a"]})
    assert run("--plan").splitlines() == [
        "+ trial: collection",
        "+ trial: index by_a (a)",
        "+ trial: unique index by_b (b.c -1)",
        "+ trial: validator",
        "4 changes planned.",
    ]
    assert NAME not in mongo.list_collection_names()


def test_plan_is_empty_after_applying_it(mongo, declare):
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


def test_dropped_and_unknown_indexes_are_listed(mongo, declare):
    declare(BY_A)
    run()
    mongo[NAME].drop_index("by_a")
    mongo[NAME].create_index("stray")
    plan = run("--plan")
    assert "+ trial: index by_a (a)" in plan
    assert "- trial: index stray_1, which no app declares" in plan
    run()
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a", "stray_1"}
    run("--drop-unknown")
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a"}


def test_unknown_indexes_of_shared_collections_are_kept(mongo, declare):
    declare(BY_A, shared=True)
    mongo[NAME].create_index("stray")
    run("--drop-unknown")
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a", "stray_1"}


def test_changed_index_is_built_under_another_name(mongo, declare):
    declare(BY_A)
    run()
    declare(Index("by_a", (("a", 1), ("b", 1))))
    said = run()
    assert "+ trial: index by_a (a, b), built as by_a_2\n" in said
    assert "- trial: index by_a, which no app declares  (kept; use --drop-unknown to drop it)" in said
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a", "by_a_2"}
    run("--drop-unknown")
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a_2"}
    assert run("--plan") == "Nothing to do.\n"


def test_interrupted_rebuild_is_completed_by_the_next(mongo, declare):
    declare(Index("by_a", (("a", 1),)))
    run()
    declare(Index("by_a", (("a", 1),), partial={"a": {"$gt": 1}}))
    mongo[NAME].create_index([("a", 1)], name="by_a_2", partialFilterExpression={"a": {"$gt": 1}})
    run()
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a_2"}


def test_changed_unique_index_is_built_before_the_drop(mongo, declare, commands):
    declare(Index("by_a", (("a", 1),), unique=True))
    run()
    declare(Index("by_a", (("a", 1), ("b", 1))))
    with commands.recorded():
        assert "~ trial: unique index by_a (a) → (a, b), built as by_a_2 before the old index is dropped" in run()
    assert [n for n in commands.names if n in ("createIndexes", "dropIndexes")] == ["createIndexes", "dropIndexes"]
    assert set(mongo[NAME].index_information()) == {"_id_", "by_a_2"}
    assert run("--plan") == "Nothing to do.\n"


def test_changed_expiry_is_changed_in_place(mongo, declare):
    declare(Index("ttl", (("c", 1),), expire_after_seconds=60))
    run()
    declare(Index("ttl", (("c", 1),), expire_after_seconds=90))
    assert "~ trial: index ttl (c, expireAfterSeconds: 60) → (c, expireAfterSeconds: 90), changed in place" in run()
    assert mongo[NAME].index_information()["ttl"]["expireAfterSeconds"] == 90


@pytest.mark.parametrize(
    "changed",
    [
        Index("by_a", (("a", 1),), unique=True),
        Index("by_a", (("a", 1),), sparse=True),
        Index("by_a", (("a", 1),), partial={"a": {"$gt": 1}}),
        Index("by_a", (("a", 1),), options={"collation": {"locale": "en"}}),
    ],
)
def test_changed_options_are_built_before_the_drop(mongo, declare, commands, changed):
    declare(BY_A)
    run()
    if "collation" in changed.options:  # the server lists it with all of its parts
        mongo["other"].create_index("a", name="by_a", **changed.settings())
        changed.options.update(collation=mongo["other"].index_information()["by_a"]["collation"])
        mongo.drop_collection("other")
    declare(changed)
    with commands.recorded():
        run()
    assert [n for n in commands.names if n in ("createIndexes", "dropIndexes")] == ["createIndexes", "dropIndexes"]
    assert run("--plan") == "Nothing to do.\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BY_A, Index("by_a", (("a", 1),), expire_after_seconds=60)),
        (Index("by_a", (("a", 1),), options={"hidden": True}), BY_A),
        (BY_A, Index("by_a", (("a", 1),), options={"hidden": True})),
    ],
)
def test_in_place_changes_rebuild_nothing(mongo, declare, commands, before, after):
    declare(before)
    run()
    declare(after)
    with commands.recorded():
        assert "changed in place" in run()
    assert not {"createIndexes", "dropIndexes"} & set(commands.names)
    assert run("--plan") == "Nothing to do.\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Index("by_a", (("a", 1),), expire_after_seconds=60), Index("other", (("a", 1),))),
        (Index("words", (("a", "text"),)), Index("words", (("a", "text"), ("b", "text")))),
    ],
)
def test_indistinguishable_index_is_dropped_first_as_planned(mongo, declare, before, after):
    declare(before)
    run()
    declare(after)
    assert "built after the old index is dropped" in run("--plan")
    run()
    assert run("--plan") == "Nothing to do.\n"
    assert set(mongo[NAME].index_information()) == {"_id_", after.name}


def test_index_build_has_no_time_limit(declare, commands):
    declare(BY_A)
    with commands.recorded():
        run()
    (build,) = [event.command for event in commands.sent if event.command_name == "createIndexes"]
    assert "maxTimeMS" not in build


def test_failed_unique_index_names_documents_and_stops_no_other(mongo, declare):
    mongo[NAME].insert_many([{"_id": n, "a": n // 2} for n in range(4)])
    declare(Index("by_a", (("a", 1),), unique=True), Index("by_b", (("b", 1),)))
    for arguments, built in ((["--plan"], {"_id_"}), ([], {"_id_", "by_b"})):
        with pytest.raises(CommandError, match=r"(?s)unique index by_a .* can't be built.*\(0\): 2 documents, 0, 1"):
            run(*arguments)
        assert set(mongo[NAME].index_information()) == built


def test_sparse_unique_index_allows_missing_fields(mongo, declare):
    mongo[NAME].insert_many([{"b": 1}, {"b": 2}])
    declare(Index("by_a", (("a", 1),), unique=True, sparse=True))
    assert "1 changes planned." in run("--plan")
    run()


def test_duplicates_in_arrays_are_named_by_the_server(mongo, declare):
    mongo[NAME].insert_many([{"a": [1, 2]}, {"a": [2, 3]}])
    declare(Index("by_a", (("a", 1),), unique=True))
    with pytest.raises(CommandError, match=r"{'a': 2}"):
        run()


def test_changed_validator_is_shown_and_replaced(mongo, declare):
    declare(validator=document({"a": TEXT}))
    assert "+ trial: validator" in run()
    declare(validator=document({"a": INTEGER, "b": TEXT}))
    plan = run("--plan")
    assert "~ trial: validator: a: string, required → int or long, required; + b\n" in plan
    run()
    assert run("--plan") == "Nothing to do.\n"
    mongo.command("collMod", NAME, validationLevel="strict")
    assert "~ trial: validator: validationLevel: strict → moderate" in run()
    declare()
    assert "~ trial: validator is removed" in run()
    assert run("--plan") == "Nothing to do.\n"


def event(**fields):
    """Return the validator of a collection with documents of the types "page" and "event"."""
    types = {"page": {}, "event": fields}
    branches = [{"properties": {"type": one_of(name), "detail": document({}, known)}} for name, known in types.items()]
    return document({"metadata": {**document({"type": TEXT}), "anyOf": branches}})


def test_plan_shows_paths_of_changed_fields_by_type(mongo, declare):
    declare(validator=event(doors=TEXT, stage=document({}, {"name": TEXT})))
    run()
    declare(validator=event(doors=DATE, guests=array_of(document({"name": TEXT}))))
    assert run("--plan").splitlines()[0] == (
        "~ trial: validator: metadata.detail.doors (event): string → date; - metadata.detail.stage (event); "
        "+ metadata.detail.guests (event)"
    )


def test_plan_as_json_contains_whole_validators(mongo, declare):
    declare(BY_A, validator=document({"a": TEXT}))
    run()
    before, after = document({"a": TEXT}), document({"a": TEXT, "b": TEXT})
    declare(BY_A, Index("by_b", (("b", 1),)), validator=after)
    index, validator = json.loads(run("--plan", "--json"))
    assert (index["sign"], index["collection"], index["description"]) == ("+", NAME, "index by_b (b)")
    assert (index["alias"], index["optional"], index["before"], index["after"]) == ("default", False, None, None)
    assert validator["description"] == "validator: + b"
    assert before.items() <= validator["before"]["$jsonSchema"].items()
    assert after.items() <= validator["after"]["$jsonSchema"].items()
    with pytest.raises(CommandError, match="2 changes planned"):
        run("--plan", "--json", "--exit-code")
    with pytest.raises(CommandError, match="--json goes with --plan"):
        run("--json")


def test_foreign_validator_is_kept_without_the_option(mongo, declare):
    mongo.create_collection(NAME, validator={"z": 1})
    declare(validator=document({"a": TEXT}))
    assert "not declared by an app" in run("--plan")
    run()
    assert mongo[NAME].options()["validator"] == {"z": 1}
    run("--drop-unknown")
    assert mongo[NAME].options()["validator"]["$jsonSchema"]["required"] == ["a"]


def test_moderate_validator_refuses_only_new_faults(mongo, declare):
    mongo[NAME].insert_many([{"_id": "old", "a": 1}, {"_id": "good", "a": "x"}])
    declare(validator=document({"a": TEXT}))
    run()
    mongo[NAME].update_one({"_id": "old"}, {"$set": {"b": 1}})
    for write in (
        lambda: mongo[NAME].insert_one({"a": 1}),
        lambda: mongo[NAME].update_one({"_id": "good"}, {"$set": {"a": 1}}),
    ):
        with pytest.raises(WriteError, match="failed validation"):
            write()


def test_migrate_sets_up_declared_collections(mongo):
    mongo["auth_group"].drop_index("by_name")
    mongo.command("collMod", "cms.nodes", validator={})
    call_command("migrate", verbosity=0)
    assert run("--plan") == "Nothing to do.\n"


def test_migrate_lists_changed_validators(mongo, declare):
    declare(validator=document({"a": TEXT}))
    run()
    declare(validator=document({"a": TEXT}, {"b": INTEGER}))
    out = StringIO()
    call_command("migrate", stdout=out)
    assert "  ~ trial: validator: + b" in out.getvalue()
    out = StringIO()
    call_command("migrate", stdout=out)
    assert "trial" not in out.getvalue()


def test_migrate_lists_a_new_validator(mongo, declare):
    declare()
    run()
    declare(validator=document({"a": TEXT}))
    out = StringIO()
    call_command("migrate", stdout=out)
    assert "  + trial: validator" in out.getvalue()


def test_migrate_does_not_list_new_collections(mongo, declare):
    declare(BY_A, validator=document({"a": TEXT}))
    out = StringIO()
    call_command("migrate", stdout=out)
    assert "trial" not in out.getvalue()
    assert NAME in mongo.list_collection_names()


def test_every_collection_has_a_validator_with_required_fields(mongo):
    for item in declared_collections():
        schema = item.collection.validator
        assert schema, item.collection.name
        assert any("required" in part for part in (schema, *schema.get("allOf", ()))), item.collection.name
        assert mongo[item.collection.name].options()["validationLevel"] == "moderate"


def test_documents_that_violate_a_validator_are_listed(mongo, declare):
    declare(validator={"required": ["a"]})
    mongo[NAME].insert_many([{"_id": "good", "a": 1}, {"_id": "bad"}])
    out = StringIO()
    with pytest.raises(CommandError, match="1 documents violate"):
        call_command("setup_indexes", "--check", stdout=out)
    assert out.getvalue() == "trial: bad\n"
    mongo[NAME].insert_many([{"b": n} for n in range(200)])
    with pytest.raises(CommandError, match="201 documents violate"):
        run("--check")
    mongo[NAME].delete_many({"_id": {"$ne": "good"}})
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
    assert "no app declares it" in lines["stray_1"]


def test_only_the_given_collection_is_planned(mongo):
    mongo["auth_group"].drop_index("by_name")
    assert run("--plan", "--collection", "auth_user") == "Nothing to do.\n"
    assert "auth_group" in run("--collection", "auth_group")


def test_missing_permission_is_reported_with_its_role(mongo):
    def refuse(db):
        raise OperationFailure("not authorized to execute collMod", 13)

    with pytest.raises(indexes.CannotBuild, match="^. trial: validator: the database user doesn't .* dbAdmin"):
        indexes.apply_change(indexes.Change("+", "default", NAME, "validator", refuse))


def test_undeclared_collection_is_refused(mongo):
    with pytest.raises(CommandError, match="No app declares the collections misspelt"):
        run("--plan", "--collection", "misspelt")


def test_indexes_of_the_gridfs_driver_are_accepted(mongo):
    bucket = GridFSBucket(mongo, "cms.renditions")
    mongo["cms.renditions.files"].drop_index("filename_1_uploadDate_1")
    mongo["cms.renditions.chunks"].drop_index("files_id_1_n_1")
    copy = {"source": ObjectId(), "spec": "w1.webp", "content_type": "image/webp", "locked": None}
    bucket.upload_from_stream("w1.webp", b"x", metadata=copy)
    assert "files_id_1_n_1" in mongo["cms.renditions.chunks"].index_information()
    assert [str(change) for change in indexes.plan()] == []


def test_declared_indexes_equal_the_existing_ones(mongo):
    assert [str(change) for change in indexes.plan()] == []
