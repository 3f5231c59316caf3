"""Rules for every command: its exit codes, and one sentence during an outage of MongoDB."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command, get_commands

from cms.testing.build import node
from marginalia.mongo.management.base import COULD_NOT_RUN, FOUND_PROBLEMS, MongoCommand
from marginalia.testing.mongod import Member
from tests.support import wxr

ROOT = Path(__file__).parents[2]
OURS = {
    "cms",
    "marginalia.comments",
    "marginalia.mongo",
    "marginalia.tasks",
    "nodes",
    "photos",
    "transfer",
    "wordpress",
}
AWAY = "mongodb://127.0.0.1:9/?replicaSet=rs0&timeoutMS=300&serverSelectionTimeoutMS=300"
REFUSED = "MongoDB doesn't answer. 127.0.0.1:9: [Errno 111] Connection refused."


def ended(*words: str) -> tuple[int, str]:
    """Run a command in this process, and return its exit code and output."""
    out = io.StringIO()
    try:
        call_command(*words, stdout=out, stderr=io.StringIO())
    except CommandError as error:
        return error.returncode, out.getvalue() + str(error)
    return 0, out.getvalue()


def test_every_command_has_these_exit_codes():
    from django.core.management import load_command_class

    ours = {name: app for name, app in get_commands().items() if app in OURS}
    changed = ("check", "makemigrations", "sendtestemail", "shell")  # Django's commands with additions
    ours = {name: app for name, app in ours.items() if name not in (*changed, "mongod", "serve")}
    classes = {name: type(load_command_class(app, name)) for name, app in ours.items()}
    assert len(classes) >= 15
    assert {name for name, kind in classes.items() if not issubclass(kind, MongoCommand)} == set()


def run(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the site's settings, an unreachable database, and these changes to the environment."""
    environment = {"DJANGO_SETTINGS_MODULE": "cms.settings", "MONGODB_URI": AWAY, "MONGODB_TIMEOUT_MS": "500"}
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, **environment, **changes},
        capture_output=True,
        text=True,
        check=False,
    )


# One of the site's commands, and one of Django's.
@pytest.mark.slow_after(1)
@pytest.mark.parametrize("command", ["doctor", "migrate"])
def test_unreachable_database_is_one_sentence(command):
    answer = run("manage.py", command)
    assert answer.returncode == COULD_NOT_RUN, answer.stderr
    said = answer.stdout + answer.stderr
    assert REFUSED in said
    assert "Traceback" not in said
    assert len(answer.stderr.splitlines()) == 1


def test_indexes_are_not_created_on_a_standalone_server(tmp_path):
    with Member(tmp_path / "data", replset="") as server:
        answer = run("manage.py", "setup_indexes", MONGODB_URI=server.uri, MONGODB_TIMEOUT_MS="30000")
    assert answer.returncode == COULD_NOT_RUN
    assert answer.stdout == ""
    assert (
        "The MongoDB server of the connection 'default' is a standalone server, and Marginalia needs a replica set"
        in (answer.stderr)
    )
    assert len(answer.stderr.splitlines()) == 1


# Runs commands in one process, and prints [exit code, last line] of each.
RUNNER = """
import io, json, sys
import django
from django.core.management import CommandError, call_command
django.setup()
ended = []
for words in json.loads(sys.argv[1]):
    out = io.StringIO()
    try:
        call_command(*words, stdout=out, stderr=io.StringIO())
        ended.append([0, out.getvalue()])
    except CommandError as error:
        ended.append([error.returncode, out.getvalue() if words == ["doctor"] else str(error)])
print(json.dumps(ended))
"""


@pytest.mark.slow
def test_commands_report_an_unreachable_database_in_one_line(mongo, tmp_path):
    node()
    call_command("export_site", str(tmp_path / "site"), stdout=io.StringIO())
    (tmp_path / "discussions").write_text(json.dumps({"discussion": f"nodes.node:{ObjectId()}", "open": True}) + "\n")
    (tmp_path / "posts.xml").write_bytes(wxr.export(wxr.item(1, "Here")))
    (tmp_path / "photos").mkdir()
    commands = [
        ["check_comments"],
        ["check_links"],
        ["check_nodes"],
        ["convert_comments", "--to", "buckets"],
        ["doctor"],
        ["dumpdata"],
        ["end_sessions", "--all"],
        ["erase_author", "--email", "ann@example.org"],
        ["export_author", "--email", "ann@example.org"],
        ["export_comments"],
        ["export_site", str(tmp_path / "new")],
        ["import_comments", str(tmp_path / "discussions")],
        ["import_photos", str(tmp_path / "photos"), "--gallery", "none"],
        ["import_site", str(tmp_path / "site")],
        ["import_wordpress", str(tmp_path / "posts.xml")],
        ["load_demo"],
        ["purge_revisions", "--keep", "1", "--older-than", "1"],
        ["setup_indexes"],
        ["setup_indexes", "--plan"],
        ["setup_indexes", "--check"],
        ["setup_indexes", "--status"],
        ["setup_shards"],
        ["sweep_uploads"],
        ["upgrade_nodes"],
        ["work", "--once"],
    ]
    own_errors = {"check", "makemigrations", "sendtestemail", "shell"}
    without_database = {"check_theme", "mongod", "serve", "start_theme", *own_errors}
    ours = {name for name, app in get_commands().items() if app in OURS}
    assert {words[0] for words in commands} == ours - without_database
    answer = run("-c", RUNNER, json.dumps(commands))
    assert answer.returncode == 0, answer.stderr
    for words, (code, sentence) in zip(commands, json.loads(answer.stdout.splitlines()[-1]), strict=True):
        assert code == COULD_NOT_RUN, words
        assert REFUSED in sentence, words
        assert sentence.count("\n") == (2 if words == ["doctor"] else 0), words


def test_audits_exit_by_their_findings(mongo):
    page = node()
    assert [ended(name)[0] for name in ("check_nodes", "check_links", "check_comments", "doctor")] == [0] * 4
    mongo["cms.revisions"].delete_many({})
    code, printed = ended("check_nodes", "--json")
    assert code == FOUND_PROBLEMS
    report = json.loads(printed[: printed.rindex("}") + 1])
    assert report["counts"]["history"] == 1
    assert str(page) in report["findings"][0]["about"]


@pytest.mark.slow
def test_doctor_fails_at_the_given_level(mongo):
    node()
    mongo["cms.revisions"].delete_many({})
    assert ended("doctor")[0] == 0
    assert ended("doctor", "--fail-on", "warning")[0] == FOUND_PROBLEMS


def test_plan_exit_code_tells_whether_changes_are_needed(mongo):
    assert ended("setup_indexes", "--plan", "--exit-code")[0] == 0
    mongo["cms.nodes"].drop_index("by_tag")
    try:
        assert ended("setup_indexes", "--plan")[0] == 0
        assert ended("setup_indexes", "--plan", "--exit-code")[0] == FOUND_PROBLEMS
    finally:
        call_command("setup_indexes", stdout=io.StringIO())


def test_wrong_option_has_another_exit_code(mongo):
    assert ended("setup_indexes", "--collection", "no.such")[0] == COULD_NOT_RUN
    assert ended("check_comments", "--discussion", "nodes.node:" + str(ObjectId()))[0] == COULD_NOT_RUN


def test_malformed_document_is_a_finding_among_others(mongo):
    page = node()
    mongo["cms.revisions"].delete_many({"node_id": page})
    trashed = {"_id": ObjectId(), "metadata": "not a document"}
    mongo.command("insert", "cms.trash", documents=[trashed], bypassDocumentValidation=True)
    revision = {"_id": ObjectId(), "node_id": ObjectId()}
    mongo.command("insert", "cms.revisions", documents=[revision], bypassDocumentValidation=True)
    code, printed = ended("check_nodes", "--json")
    report = json.loads(printed[: printed.rindex("}") + 1])
    assert code == FOUND_PROBLEMS
    assert {name: report["counts"][name] for name in ("malformed", "damaged", "history")} == {
        "malformed": 1,
        "damaged": 1,
        "history": 2,
    }
    assert "setup_indexes --check" in str(report["findings"])


def test_errors_do_not_contain_class_names(mongo):
    node()
    mongo["cms.revisions"].delete_many({})
    with pytest.raises(CommandError) as raised:
        call_command("check_nodes", stdout=io.StringIO())
    assert type(raised.value) is CommandError
    assert str(raised.value) == "1 problems remain."
