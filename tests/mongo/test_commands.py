"""What every command has in common: its exit code, and one sentence where MongoDB is away."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command, get_commands

from mongo.management.base import COULD_NOT_RUN, WRONG, MongoCommand
from tests.support.nodes.build import node

ROOT = Path(__file__).parents[2]
AWAY = "mongodb://127.0.0.1:9/?replicaSet=rs0&timeoutMS=300&serverSelectionTimeoutMS=300"


def ended(*words: str) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it printed."""
    out = io.StringIO()
    try:
        call_command(*words, stdout=out, stderr=io.StringIO())
    except CommandError as error:
        return error.returncode, out.getvalue() + str(error)
    return 0, out.getvalue()


def test_every_command_of_ours_has_these_exit_codes():
    from django.core.management import load_command_class

    ours = {name: app for name, app in get_commands().items() if app in ("mongo", "nodes", "comments", "cms")}
    ours = {name: app for name, app in ours.items() if name not in ("check", "mongod", "serve", "makemigrations")}
    classes = {name: type(load_command_class(app, name)) for name, app in ours.items()}
    assert len(classes) >= 15
    assert {name for name, kind in classes.items() if not issubclass(kind, MongoCommand)} == set()


# One of ours, which all answer by the same class, and one of Django's each time.
@pytest.mark.parametrize(
    "words",
    [
        ["doctor"],
        ["migrate"],
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (["check_nodes"], ["check_comments"], ["setup_indexes", "--check"], ["work", "--once"])
        ),
    ],
)
def test_a_database_that_is_away_is_one_sentence(words):
    answer = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "cms.settings", "MONGODB_URI": AWAY, "MONGODB_TIMEOUT_MS": "500"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == COULD_NOT_RUN, answer.stderr
    said = answer.stdout + answer.stderr
    assert "MongoDB doesn't answer. 127.0.0.1:9: [Errno 111] Connection refused." in said
    assert "Traceback" not in said
    assert len(answer.stderr.splitlines()) == (2 if words[0] == "work" else 1)  # the worker's log is one


def test_audits_end_with_nothing_and_with_findings(mongo):
    page = node()
    assert [ended(name)[0] for name in ("check_nodes", "check_links", "check_comments", "doctor")] == [0] * 4
    mongo["cms.revisions"].delete_many({})
    code, printed = ended("check_nodes", "--json")
    assert code == WRONG
    report = json.loads(printed[: printed.rindex("}") + 1])
    assert report["counts"]["history"] == 1
    assert str(page) in report["findings"][0]["about"]


def test_the_doctor_fails_on_what_it_is_told_to(mongo):
    node()
    mongo["cms.revisions"].delete_many({})
    assert ended("doctor")[0] == 0
    assert ended("doctor", "--fail-on", "warning")[0] == WRONG


def test_a_plan_tells_by_its_exit_code_that_there_is_something_to_do(mongo):
    assert ended("setup_indexes", "--plan", "--exit-code")[0] == 0
    mongo["cms.nodes"].drop_index("by_tag")
    try:
        assert ended("setup_indexes", "--plan")[0] == 0
        assert ended("setup_indexes", "--plan", "--exit-code")[0] == WRONG
    finally:
        call_command("setup_indexes", stdout=io.StringIO())


def test_a_wrong_option_is_no_finding(mongo):
    assert ended("setup_indexes", "--collection", "no.such")[0] == COULD_NOT_RUN
    assert ended("check_comments", "--discussion", "nodes.node:" + str(ObjectId()))[0] == COULD_NOT_RUN


def test_a_malformed_document_is_a_finding_and_the_other_looks_go_on(mongo):
    page = node()
    mongo["cms.revisions"].delete_many({"node_id": page})
    malformed = {"_id": "malformed", "metadata": "not a document"}
    mongo.command(
        "insert",
        "cms.assets.files",
        documents=[malformed | {"metadata": {"type": "photo"}}],
        bypassDocumentValidation=True,
    )
    mongo.command("insert", "cms.trash", documents=[malformed], bypassDocumentValidation=True)
    code, printed = ended("check_nodes", "--json")
    report = json.loads(printed[: printed.rindex("}") + 1])
    assert code == WRONG
    assert report["counts"]["malformed"] >= 1
    assert report["counts"]["history"] == 1
    assert "setup_indexes --check" in str(report["findings"])


def test_errors_are_told_without_the_name_of_a_class_of_ours(mongo):
    node()
    mongo["cms.revisions"].delete_many({})
    with pytest.raises(CommandError) as raised:
        call_command("check_nodes", stdout=io.StringIO())
    assert type(raised.value) is CommandError
    assert str(raised.value) == "1 left as they were."
