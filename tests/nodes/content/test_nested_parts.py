"""Parts that contain parts: storage, form, merge, differences, API, search and hostile input."""

import json

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.test import Client
from django_mongodb_backend.fields import EmbeddedModelArrayField
from pymongo.errors import WriteError

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing.build import EDITOR, node, nonce, save, stored
from cms.testing.editors import fields
from marginalia.mongo import indexes
from nodes.content import Page, upgrade, values
from nodes.errors import EditConflict, FieldRefused
from nodes.selectors import stored_nodes
from nodes.services import editing
from tests.support.nodes.content import installed, registered
from tests.support.nodes.nested import PHASES, Phase, Project, Tool
from transfer import exported
from transfer.importing_nodes import import_node


@pytest.fixture
def project(mongo):
    with registered(Project):
        indexes.ensure()
        yield node("project", "boat", **{"detail.phases": PHASES})
    indexes.ensure()


def phases(node_id):
    return stored(node_id)["detail"]["phases"]


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def test_nested_parts_are_stored_with_ids_and_read_as_instances(project):
    first = phases(project)[0]
    assert all(isinstance(part["_id"], ObjectId) for part in (first, first["tasks"][0], first["tasks"][0]["tools"][1]))
    read = stored_nodes.get(project).metadata.detail.phases[0]
    assert isinstance(read, Phase)
    assert isinstance(read.tasks[0].tools[1], Tool)
    assert (read.tasks[0].tools[1].count, read.tasks[1].main.name, read.tasks[1].tools) == (2, "tape", None)


def test_server_validates_nested_fields(project, mongo):
    with pytest.raises(WriteError):
        mongo["cms.nodes"].update_one(
            {"_id": project}, {"$set": {"metadata.detail.phases.0.tasks.0.tools.0.count": "two"}}
        )


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            [{"title": "A", "tasks": [{"what": "x", "tools": [{"name": "y" * 21}]}]}],
            "1: tasks: 1: tools: 1: name: Ensure",
        ),
        ([{"title": "A"}, {"title": "B", "tasks": [{}]}], "2: tasks: 1: what: This field cannot be blank"),
        (
            [{"title": "A", "tasks": [{"what": "x", "main": {"name": "y", "count": "z"}}]}],
            "1: tasks: 1: main tool: count",
        ),
        ([{"title": "A", "tasks": [{"what": "x", "more": 1}]}], "1: tasks: 1: The field “more” doesn't exist"),
        ([{"title": "A", "tasks": {"what": "x"}}], "1: tasks: This value must be a list"),
        ([{"title": "A", "tasks": [{"what": "x", "tools": [["y"]]}]}], "1: tasks: 1: tools: "),
    ],
)
def test_wrong_value_is_reported_at_its_place(project, wrong, message):
    before = stored(project)
    with pytest.raises(FieldRefused) as caught:
        save(project, nonce(project), **{"detail.phases": wrong})
    assert caught.value.path == "detail.phases"
    assert message in str(caught.value)
    assert stored(project) == before


def test_wrong_insert_in_a_nested_text_is_reported(project):
    with pytest.raises(FieldRefused, match="^2: "):
        save(
            project,
            nonce(project),
            **{"detail.phases": [*PHASES[:1], {"title": "B", "tasks": [{"what": "x", "how": "::photo{}"}]}]},
        )


def test_number_of_nested_parts_is_limited(project):
    tasks = [{"what": "x", "tools": [{"name": "y"}] * 50} for _ in range(10)]
    with pytest.raises(FieldRefused, match="Too many rows. Use at most 500."):
        save(project, nonce(project), **{"detail.phases": [{"title": "A", "tasks": tasks}]})


def test_deeply_nested_input_is_rejected(project):
    deep: list = []
    for _ in range(5_000):
        deep = [{"tasks": deep}]
    with pytest.raises(FieldRefused):
        save(project, nonce(project), **{"detail.phases": deep})


def test_unchanged_form_changes_nothing(project, editor):
    before, ann = stored(project), editor()
    assert ann.send(change(project), ann.open(change(project))).status_code == 302
    assert stored(project) == before


def test_rows_are_added_changed_ordered_and_removed_without_scripts(project, editor):
    ann = editor()
    form = ann.open(change(project))
    ids = [tool["_id"] for tool in phases(project)[0]["tasks"][0]["tools"]]
    typed = {
        "phases-0-tasks-0-tools-0-ORDER": "9",
        "phases-0-tasks-0-tools-1-count": "7",
        "phases-0-tasks-0-tools-2-name": "brush",
        "phases-0-tasks-1-DELETE": "on",
        "phases-1-tasks-0-what": "Saw",
        "phases-1-tasks-0-main-0-name": "saw",
        "phases-2-title": "Paint",
        "phases-2-tasks-0-what": "Sand",
        "phases-2-tasks-0-tools-0-name": "paper",
        "last-0-title": "Sell",
        "last-0-tasks-0-what": "Show",
    }
    assert ann.send(change(project), form, **typed).status_code == 302
    first, second, third = phases(project)
    assert [(tool["name"], tool["count"]) for tool in first["tasks"][0]["tools"]] == [
        ("ruler", 7),
        ("brush", 1),
        ("pen", 1),
    ]
    assert [tool["_id"] for tool in first["tasks"][0]["tools"]][::2] == ids[::-1]
    assert [task["what"] for task in first["tasks"]] == ["Draw"]
    assert [(task["what"], task["main"]["name"]) for task in second["tasks"]] == [("Saw", "saw")]
    assert (third["title"], third["tasks"][0]["tools"][0]["name"]) == ("Paint", "paper")
    assert [task["what"] for task in stored(project)["detail"]["last"]["tasks"]] == ["Show"]


def test_form_keeps_typed_rows_and_shows_the_place_of_an_error(project, editor):
    ann = editor()
    form = ann.open(change(project))
    answer = ann.send(
        change(project), form, **{"phases-0-tasks-0-tools-1-count": "many", "phases-1-tasks-0-what": "Saw"}
    )
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "1: Tasks: 1: Tools: 2: Count: Enter a whole number." in html
    again = fields(html)
    assert again["phases-1-tasks-0-what"] == ["Saw"]
    assert again["phases-0-tasks-0-tools-1-count"] == ["many"]
    assert ann.send(change(project), again, **{"phases-0-tasks-0-tools-1-count": "3"}).status_code == 302
    assert phases(project)[0]["tasks"][0]["tools"][1]["count"] == 3


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("count", ["", "x", "-1", "501", "99999", None])
def test_unreadable_inner_rows_are_rejected(project, editor, count):
    ann, before = editor(), stored(project)
    form = ann.open(change(project))
    form.pop("phases-0-tasks-count")
    if count is not None:
        form["phases-0-tasks-count"] = [count]
    answer = ann.send(change(project), form)
    assert answer.status_code == 200
    assert "These rows couldn&#x27;t be read" in answer.content.decode()
    assert stored(project) == before


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    "sent",
    [
        {"phases-count": "501"},
        {"phases": json.dumps([{"tasks": [{"tools": [{"name": "pen"}] * 200}]}] * (values.MOST_PARTS // 200 + 1))},
    ],
)
def test_too_many_rows_are_rejected_before_they_are_rendered(project, editor, sent):
    ann, before = editor(), stored(project)
    answer = ann.send(change(project), ann.open(change(project)), **sent)
    html = answer.content.decode()
    assert "These rows couldn&#x27;t be read" in html
    assert "phases-1-tasks-count" not in html
    assert stored(project) == before


@pytest.mark.slow
def test_typed_rows_above_the_limit_are_shown_again_with_the_limit(project, editor):
    ann, before = editor(), stored(project)
    tools = "phases-0-tasks-0-tools"
    typed = {f"{tools}-{number}-name": f"tool {number}" for number in range(values.MOST_PARTS)}
    typed |= {f"{tools}-{number}-id": "" for number in range(2, values.MOST_PARTS)}
    typed |= {f"{tools}-{number}-count": "1" for number in range(values.MOST_PARTS)}
    html = ann.send(
        change(project), ann.open(change(project)), **typed, **{f"{tools}-count": str(values.MOST_PARTS)}
    ).content.decode()
    assert "Use at most" in html
    assert 'value="tool 499"' in html
    assert stored(project) == before


def test_missing_inner_rows_are_not_created(project, editor):
    ann = editor()
    form = ann.open(change(project))
    form["phases-1-tasks-count"] = ["500"]
    assert ann.send(change(project), form).status_code == 302
    assert phases(project)[1]["tasks"] == []


def test_edits_of_different_inner_rows_are_merged(project, editor):
    ann, bob = editor(), editor("bob")
    theirs, mine = ann.open(change(project)), bob.open(change(project))
    assert ann.send(change(project), theirs, **{"phases-0-tasks-0-tools-0-name": "pencil"}).status_code == 302
    assert (
        bob.send(
            change(project), mine, **{"phases-0-tasks-0-tools-1-count": "5", "phases-0-title": "Think"}
        ).status_code
        == 302
    )
    first = phases(project)[0]
    assert (first["title"], [(tool["name"], tool["count"]) for tool in first["tasks"][0]["tools"]]) == (
        "Think",
        [("pencil", 1), ("ruler", 5)],
    )


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("choice", "name"), [("mine", "quill"), ("theirs", "pencil"), ("edit", "quill")])
def test_conflict_in_an_inner_row_is_decided_on_the_conflict_page(project, editor, choice, name):
    ann, bob = editor(), editor("bob")
    theirs, mine = ann.open(change(project)), bob.open(change(project))
    typed = {"phases-0-tasks-0-tools-0-name": "pencil", "phases-0-tasks-1-what": "Count"}
    assert ann.send(change(project), theirs, **typed).status_code == 302
    asked = bob.send(change(project), mine, **{"phases-0-tasks-0-tools-0-name": "quill"})
    assert asked.status_code == 409
    page = fields(asked.content.decode())
    assert bob.send(change(project), page, **{"choice-phases": choice}).status_code == 302
    tasks = phases(project)[0]["tasks"]
    assert (tasks[0]["tools"][0]["name"], tasks[1]["what"]) == (name, "Count")
    assert tasks[1]["main"]["name"] == "tape"


def test_part_removed_by_one_and_changed_inside_by_the_other_is_a_conflict(project):
    seen, before = nonce(project), phases(project)
    without = [{**before[0], "tasks": before[0]["tasks"][1:]}, before[1]]
    save(project, seen, **{"detail.phases": without})
    changed = [{**before[0], "tasks": [{**before[0]["tasks"][0], "what": "Sketch"}, before[0]["tasks"][1]]}, before[1]]
    with pytest.raises(EditConflict) as caught:
        save(project, seen, **{"detail.phases": changed})
    (conflict,) = caught.value.merge.conflicts
    assert [task["what"] for task in conflict.mine[0]["tasks"]] == ["Measure", "Sketch"]
    assert [task["what"] for task in conflict.theirs[0]["tasks"]] == ["Measure"]


def test_history_shows_changed_inner_values(project, editor):
    ann, old = editor(), nonce(project)
    before = phases(project)
    before[0]["tasks"][0]["tools"][0]["name"] = "pencil"
    save(project, old, **{"detail.phases": before})
    html = ann.client.get(f"/admin/nodes/node/{project}/compare/?old={old}&new={nonce(project)}").content.decode()
    assert "<del>pen</del>" in html
    assert "<ins>pencil</ins>" in html
    assert "Phases" in html


def test_inner_texts_are_found_and_rendered(project):
    found = stored_nodes.database()["cms.nodes"].find_one({"_id": project})["derived"]
    for word in ("Plan", "Draw", "ink", "ruler", "tape"):
        assert word in found["text"]
    assert "**" not in found["text"]


@pytest.fixture
def api(mongo):
    user = get_user_model().objects.create_superuser("ann", "ann@example.org", "pw")
    secret = tokens.create(user, "test", [Scope.READ, Scope.WRITE, Scope.PUBLISH])[1]
    return Client(headers={"Authorization": f"Bearer {secret}"})


def test_api_reads_and_writes_nested_parts(project, api):
    answer = api.get(f"/api/v1/nodes/{project}")
    sent = answer.json()["detail"]["phases"]
    assert sent[0]["tasks"][0]["tools"][1] | {"id": ""} == {"id": "", "name": "ruler", "count": 2, "is_sharp": True}
    sent[0]["tasks"][0]["tools"][1]["count"] = 4
    sent[1]["tasks"] = [{"what": "Saw", "tools": [{"name": "saw"}]}]
    before = phases(project)
    headers = {"If-Match": answer["ETag"], "Idempotency-Key": "one"}
    body = {"detail": {"phases": sent, "last": {"title": "Sell", "tasks": [{"what": "Show"}]}}}
    for _attempt in range(2):
        answer = api.patch(f"/api/v1/nodes/{project}", body, "application/json", headers=headers)
        assert answer.status_code == 200, answer.content
    after = phases(project)
    assert after[0]["tasks"][0]["tools"][1] == {**before[0]["tasks"][0]["tools"][1], "count": 4}
    assert after[1]["tasks"][0]["tools"][0]["name"] == "saw"
    last = stored(project)["detail"]["last"]
    change_title = {"detail": {"last": {"title": "Lend"}}}
    headers = {"If-Match": answer["ETag"]}
    assert api.patch(f"/api/v1/nodes/{project}", change_title, "application/json", headers=headers).status_code == 200
    assert stored(project)["detail"]["last"] == {**last, "title": "Lend"}


def test_api_rejects_wrong_types_in_nested_parts(project, api):
    etag = api.get(f"/api/v1/nodes/{project}")["ETag"]
    for wrong in ({"count": "2"}, {"count": True}, {"$set": 1}, {"a.b": 1}):
        body = {"detail": {"phases": [{"title": "A", "tasks": [{"what": "x", "tools": [{"name": "y", **wrong}]}]}]}}
        answer = api.patch(f"/api/v1/nodes/{project}", body, "application/json", headers={"If-Match": etag})
        assert answer.status_code == 422, wrong
        assert "phases" in answer.content.decode()


def test_schema_of_the_api_describes_nested_parts(project, api):
    schemas = api.get("/api/v1/openapi.json").json()["components"]["schemas"]
    assert "tasks" in schemas["Phase"]["properties"]
    assert "tools" in schemas["Task"]["properties"]
    assert "count" in schemas["Tool"]["properties"]


def test_export_and_import_keep_nested_parts(project, mongo):
    before = mongo["cms.nodes"].find_one({"_id": project})
    record = exported.as_exported(before) | {"history": []}
    mongo["cms.nodes"].delete_one({"_id": project})
    assert import_node(record).outcome.name == "NEW"
    assert mongo["cms.nodes"].find_one({"_id": project})["metadata"] == before["metadata"]


def test_upgrade_gives_nested_parts_the_same_ids_on_each_read(project):
    class Later(Page):
        type_name = "project"
        schema_version = 2

        phases = EmbeddedModelArrayField(Phase, null=True, blank=True)

        @upgrade(from_version=1)
        def add(detail):
            return {"phases": [{"title": "A", "tasks": [{"what": "x", "tools": [{"name": "y"}, {"name": "y"}]}]}]}

    with installed(Later):
        read = [stored_nodes.get(project).metadata.detail.phases[0].tasks[0] for _attempt in range(2)]
        assert read[0].id is not None
        assert [(task.id, [tool.id for tool in task.tools]) for task in read[:1]] == [
            (task.id, [tool.id for tool in task.tools]) for task in read[1:]
        ]
        assert len({tool.id for tool in read[0].tools}) == 2


def test_save_without_changes_writes_nothing(project):
    before = stored(project)
    detail = stored_nodes.get(project).metadata.detail
    assert editing.save(EDITOR, project, before["nonce"], {"detail.phases": detail.phases}).changed == ()
    assert stored(project) == before


def test_parts_are_counted_at_every_depth():
    (field,) = (field for field in values.stored_fields(Project) if field.name == "phases")
    assert values._count_parts(field, PHASES) == 7
