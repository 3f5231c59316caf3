"""The doctor reports each fault under its own name, and nothing on a healthy site."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pymongo import MongoClient

from cms.testing.build import node
from marginalia.mongo import doctor
from marginalia.mongo.clock import now
from marginalia.mongo.collections import Collection, DeclaredCollection, Index, ShardKey
from marginalia.mongo.doctor import ADVICE, ERROR, WARNING, HotQuery
from marginalia.mongo.schemas import NUMBER, TEXT, array_of, document, either
from marginalia.testing.mongod import EphemeralMongod

pytestmark = pytest.mark.slow

NAME = "patients"


def found(**options) -> dict[str, str]:
    """Return the names of the findings, with their levels."""
    return {finding.name: finding.level for finding in doctor.examine(**options)}


@pytest.fixture
def patients(mongo):
    """A collection for the examination, dropped after the test."""
    yield mongo[NAME]
    mongo.drop_collection(NAME)


@pytest.fixture
def declare(patients, monkeypatch):
    def declare(*indexes: Index, **options) -> None:
        items = [DeclaredCollection("default", Collection(NAME, indexes, **options))]
        monkeypatch.setattr("marginalia.mongo.collections.declared_collections", lambda: items)

    return declare


def test_healthy_site_has_no_errors_and_no_warnings(mongo):
    blog = node("blog", "blog")
    for n in range(3):
        node("blog-entry", f"post-{n}", parent=blog, tags=("a", "b"), text="Hello")
    call_command("work", "--once", stdout=StringIO())
    out = StringIO()
    call_command("doctor", stdout=out)
    levels = found()
    assert "0 errors, 0 warnings" in out.getvalue()
    assert set(levels.values()) == {ADVICE}
    assert {"no-tls", "no-authentication", "few-members"} <= set(levels)


def test_findings_are_written_as_json(mongo):
    out = StringIO()
    call_command("doctor", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert answer["counts"]["error"] == 0
    assert {"level", "name", "where", "message", "fix"} == set(answer["findings"][0])


def test_production_requirements_become_errors(mongo):
    levels = found(production=True)
    for name in ("no-tls", "no-authentication", "few-members", "server-end-of-life"):
        assert levels[name] == ERROR
    with pytest.raises(CommandError, match="errors"):
        call_command("doctor", "--production", stdout=StringIO())


def test_missing_key_in_production_is_an_error(mongo, settings):
    assert "setting-unfit" in found(production=True)


def test_silenced_check_is_no_finding(mongo, settings):
    def unfit():
        return {finding.where for finding in doctor.examine(production=True) if finding.name == "setting-unfit"}

    before = unfit()
    assert before
    settings.SILENCED_SYSTEM_CHECKS = [sorted(before)[0]]
    assert unfit() == before - {sorted(before)[0]}


def test_dropped_and_unknown_indexes_are_reported(mongo):
    mongo["cms.nodes"].drop_index("by_tag")
    mongo["cms.nodes"].create_index("strayId")
    try:
        levels = found()
        assert "Index strayId_1, which no app declares." in [finding.message for finding in doctor.examine()]
        assert (levels["index-missing"], levels["index-stray"]) == (ERROR, WARNING)
        with pytest.raises(CommandError):
            call_command("doctor", stdout=StringIO())
    finally:
        mongo["cms.nodes"].drop_index("strayId_1")
        call_command("setup_indexes", stdout=StringIO())
    assert "index-missing" not in found()


def hot(monkeypatch, **query) -> None:
    monkeypatch.setattr(
        "marginalia.mongo.doctor.queries.hot_queries", lambda: [HotQuery("trial", NAME, lambda document: query)]
    )


def test_passive_members_do_not_count_as_candidates(mongo, monkeypatch):
    with EphemeralMongod() as server, MongoClient(server.uri) as client:
        config = client.admin.command("replSetGetConfig")["config"]
        passive = [{"_id": n, "host": f"127.0.0.1:{n}", "priority": 0, "votes": 0} for n in (1, 2)]
        monkeypatch.setattr("marginalia.mongo.doctor.topology.client", lambda alias: client)
        assert "few-members" in found()
        config |= {"version": config["version"] + 1, "members": [*config["members"], *passive]}
        client.admin.command("replSetReconfig", config)
        assert "few-members" not in found()


def test_query_that_scans_is_reported(declare, patients, monkeypatch):
    declare(unsharded_because="test")
    patients.insert_one({"a": 1})
    hot(monkeypatch, filter={"a": 1})
    assert found()["query-scan"] == ERROR


def test_query_that_sorts_or_reads_too_much_is_reported(declare, patients, monkeypatch):
    index = Index("by_a", (("a", 1),))
    declare(index, unsharded_because="test")
    patients.insert_many([{"a": 1, "b": n} for n in range(50)])
    call_command("setup_indexes", stdout=StringIO())
    hot(monkeypatch, filter={"a": 1, "b": 3}, sort={"b": 1})
    levels = found()
    assert (levels["query-sort"], levels["query-reads-much"]) == (ERROR, WARNING)
    hot(monkeypatch, filter={"a": 1}, limit=10)
    assert not {"query-sort", "query-scan", "query-reads-much"} & set(found())


def test_query_of_every_shard_is_reported(declare, patients, monkeypatch):
    declare(Index("by_b", (("b", 1),)), shard_key=ShardKey((("a", 1),)))
    patients.insert_one({"a": 1})
    hot(monkeypatch, filter={"b": 1})
    assert found()["query-broadcast"] == ADVICE
    hot(monkeypatch, filter={"a": 1})
    assert "query-broadcast" not in found()


@pytest.mark.parametrize(
    ("name", "documents"),
    [
        ("mixed-type", [{"a": 1}, {"a": "1"}]),
        ("several-entities", [{"a": 1}, {"b": 1}]),
        ("deep-nesting", [{"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}]),
        ("array-unbounded", [{"a": list(range(1_001))}]),
        ("document-big", [{"a": "x" * 200 * 1024}]),
    ],
)
def test_documents_of_a_bad_shape_are_reported(declare, patients, name, documents):
    declare(unsharded_because="test")
    patients.insert_many(documents)
    assert found()[name] == WARNING
    patients.delete_many({})
    patients.insert_many([{"a": 1}, {"a": 2.5}, {"a": None}])
    assert name not in found()


def test_types_allowed_by_the_validator_are_not_reported(declare, patients):
    declare(unsharded_because="test", validator=document({}, {"a": array_of(document({"v": either(TEXT, NUMBER)}))}))
    patients.insert_many([{"a": [{"v": 1}]}, {"a": [{"v": "1"}, {"v": None}]}])
    assert "mixed-type" not in found()
    patients.insert_one({"a": [{"v": True}], "b": 1})
    patients.insert_one({"a": [], "b": "1"})
    (finding,) = [f for f in doctor.examine() if f.name == "mixed-type"]
    assert finding.message.startswith("b has several types")


def test_document_refused_by_its_validator_is_reported(declare, patients):
    declare(unsharded_because="test", validator={"required": ["a"]})
    patients.insert_one({"b": 1})
    assert found()["invalid-document"] == WARNING


def test_foreign_validator_is_reported(declare, mongo):
    declare(unsharded_because="test", validator={"required": ["a"]})
    mongo.create_collection(NAME, validator={"b": 1})
    assert found()["validator-foreign"] == WARNING


def test_large_collection_is_sampled(declare, patients, monkeypatch, commands):
    declare(unsharded_because="test")
    patients.insert_many([{"a": n} for n in range(50)])
    monkeypatch.setattr("marginalia.mongo.connection.SAMPLING_FACTOR", 0)
    with commands.recorded():
        found()
    read = [
        e.command["pipeline"] for e in commands.sent if e.command_name == "aggregate" and e.command["aggregate"] == NAME
    ]
    assert len(read) >= 2
    assert all({"$sample", "$indexStats"} & set(pipeline[0]) for pipeline in read)


def test_slow_check_reports_what_it_found_so_far(declare, patients, monkeypatch):
    declare(unsharded_because="test")
    patients.insert_one({"a": 1})

    def slow(examination):
        yield doctor.Finding(WARNING, "found-before", NAME, "", "")
        list(examination.db[NAME].find({"$where": "sleep(20000) || true"}))

    monkeypatch.setattr("marginalia.mongo.doctor.findings.CHECK_SECONDS", 0.5)
    levels = found(checks=[slow])
    assert (levels["found-before"], levels["not-looked-through"]) == (WARNING, ADVICE)


def test_unreachable_server_is_a_finding(mongo, monkeypatch):
    with MongoClient("mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=50") as unreachable:
        monkeypatch.setattr("marginalia.mongo.doctor.findings.database", lambda alias: unreachable["test"])
        assert found() == {"unreachable": ERROR}


@pytest.mark.parametrize("hours", [-1, 1])
def test_wrong_clock_is_an_error(mongo, monkeypatch, hours):
    assert "clock-skewed" not in found()
    monkeypatch.setattr("marginalia.mongo.doctor.topology.now", lambda: now() + timedelta(hours=hours))
    [skewed] = [finding for finding in doctor.examine() if finding.name == "clock-skewed"]
    assert (skewed.level, "differ by 3,600 s" in skewed.message) == (ERROR, True)


@pytest.mark.parametrize("options", ["", "&replicaSet=rs"])
def test_server_lost_during_a_check_is_a_finding(mongo, options):
    with MongoClient(f"mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=50{options}") as unreachable:

        def lost(examination):
            unreachable.admin.command("ping")
            yield from ()

        assert found(checks=[lost]) == {"unreachable": ERROR}


def test_unsafe_write_concern_is_reported(mongo, monkeypatch):
    uri = mongo.client.address
    options = {"w": 1, "retryWrites": False, "readPreference": "secondaryPreferred", "directConnection": True}
    with MongoClient(*uri, **options) as careless:
        monkeypatch.setattr("marginalia.mongo.doctor.settings.client", lambda alias: careless)
        levels = found()
    assert (levels["weak-writes"], levels["no-retries"], levels["stale-reads"]) == (ERROR, WARNING, WARNING)


def test_unused_index_is_reported(mongo, monkeypatch):
    assert "index-unused" not in found()
    monkeypatch.setattr("marginalia.mongo.doctor.indexes.MIN_OBSERVATION", timedelta(0))
    unused = [finding.message for finding in doctor.examine() if finding.name == "index-unused"]
    assert any(message.startswith("by_age ") for message in unused)
    # Unique and TTL indexes are used without being counted.
    assert not any(message.startswith(("by_spec ", "kept_for_a_month ")) for message in unused)


def test_every_finding_has_a_fix(mongo):
    assert all(finding.fix and finding.message and finding.where for finding in doctor.examine(production=True))


def test_impossible_shard_key_is_reported(declare, patients):
    declare(Index("u", (("a", 1),), unique=True), shard_key=ShardKey((("b", 1),)))
    assert found()["cannot-shard"] == ERROR


def test_collection_per_user_is_reported(mongo):
    names = [f"inbox_{n}" for n in range(20)]
    for name in names:
        mongo.create_collection(name)
    try:
        assert found()["collection-a-user"] == WARNING
    finally:
        for name in names:
            mongo.drop_collection(name)


def test_pending_migration_is_reported(mongo):
    row = mongo["django_migrations"].find_one({"app": "sessions"})
    mongo["django_migrations"].delete_one({"_id": row["_id"]})
    try:
        assert found()["migration-pending"] == ERROR
    finally:
        mongo["django_migrations"].insert_one(row)
    assert "migration-pending" not in found()


def later_check(examination):
    yield doctor.Finding(WARNING, "found-later", NAME, "", "")


def test_failing_check_is_a_finding_and_others_continue(mongo):
    def broken(examination):
        yield doctor.Finding(WARNING, "found-before", NAME, "", "")
        raise KeyError("layout")

    levels = found(checks=[broken, later_check])
    assert levels == {"found-before": WARNING, "check-failed": ERROR, "found-later": WARNING}


def test_refused_check_is_a_finding_and_others_continue(mongo):
    def refused(examination):
        examination.db.command("noSuchCommand")
        yield from ()

    assert found(checks=[refused, later_check]) == {"check-failed": ERROR, "found-later": WARNING}


def test_malformed_documents_stop_no_check(mongo):
    blog = node("blog", "blog")
    node("blog-entry", "post", parent=blog, text="Hello")
    malformed = [{"_id": "no metadata"}, {"_id": "text", "metadata": "text"}, {"_id": "none", "metadata": None}]
    for name in ("cms.nodes", "cms.assets.files", "cms.revisions", "discussions", "comments", "comment_pages", "jobs"):
        mongo.command("insert", name, documents=malformed, bypassDocumentValidation=True)
    levels = found()
    assert "unreachable" not in levels
    assert "invalid-document" in levels
