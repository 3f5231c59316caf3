"""Declared fields in the services: refusals, storage, merging, search and the validator."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from bson import Decimal128, ObjectId
from pymongo.errors import WriteError

from cms.testing.build import EDITOR, node, nonce, save, stored
from marginalia.mongo import indexes
from nodes.errors import EditConflict, InvalidField
from nodes.selectors import stored_nodes
from nodes.services import drafts, duplicating, editing

MOMENT = datetime(2024, 5, 1, 18, 30, 0, 123456, UTC)


def make(section, **fields):
    given = {"detail.course": "main"} | {f"detail.{name}": value for name, value in fields.items()}
    return node("recipe", "stew", parent=section, **given)


def detail(node_id):
    return stored(node_id)["detail"]


def test_values_round_trip_between_python_and_mongodb(recipes):
    key = ObjectId()
    made = make(
        recipes,
        servings="4",
        ingredients=["beans", "salt"],
        since=date(2020, 2, 29),
        tasted=MOMENT,
        price=Decimal("4.5"),
        is_vegan=True,
        yields={"number": "1.5", "unit": "l"},
        steps=[{"what": "Soak", "minutes": 5}, {"_id": key, "what": "Cook"}],
    )
    said = detail(made)
    assert said["servings"] == 4
    assert said["since"] == datetime(2020, 2, 29, tzinfo=UTC)
    assert said["tasted"] == MOMENT.replace(microsecond=123000)
    assert said["price"] == Decimal128("4.50")
    assert said["yields"] == {"number": Decimal128("1.50"), "unit": "l"}
    assert [step["what"] for step in said["steps"]] == ["Soak", "Cook"]
    assert isinstance(said["steps"][0]["_id"], ObjectId)
    assert said["steps"][1]["_id"] == key
    read = stored_nodes.get(made).metadata.detail
    assert (read.servings, read.since, read.price, read.is_vegan) == (4, date(2020, 2, 29), Decimal("4.50"), True)
    assert read.tasted == MOMENT.replace(microsecond=123000)
    assert (read.yields.number, read.steps[0].minutes, read.steps[1].id) == (Decimal("1.50"), 5, key)


def test_missing_field_has_its_default(recipes, mongo):
    made = make(recipes)
    mongo["cms.nodes"].update_one(
        {"_id": made}, {"$unset": {"metadata.detail.servings": "", "metadata.detail.steps": ""}}
    )
    read = stored_nodes.get(made).metadata.detail
    assert (read.servings, read.steps) == (2, None)
    save(made, nonce(made), title="New")
    assert "servings" not in detail(made)


REFUSED = [
    ("detail.servings", -1, "greater than or equal"),
    ("detail.servings", "many", "must be an integer"),
    ("detail.servings", {"$gt": 0}, "doesn't accept this value"),
    ("detail.servings", None, "cannot be null"),
    ("detail.servings", 2**70, "less than or equal"),
    ("detail.course", "supper", "not a valid choice"),
    ("detail.course", ["main"], "doesn't accept this value"),
    ("detail.ingredients", "beans", "must be a list"),
    ("detail.ingredients", ["x" * 201], "1: "),
    ("detail.ingredients", ["beans", {"$ne": 1}], "2: "),
    ("detail.since", "2024-13-01", "invalid date"),
    ("detail.since", 5, "doesn't accept this value"),
    ("detail.is_vegan", "perhaps", "True or False"),
    ("detail.price", "12345.678", "no more than"),
    ("detail.price", "NaN", "decimal"),
    ("detail.yields", {"number": 1, "$set": 2}, "doesn't exist"),
    ("detail.yields", {"unit.x": "l"}, "doesn't exist"),
    ("detail.yields", {"number": "much"}, "number: "),
    ("detail.steps", [{"what": "Soak"}, {"what": ""}], "2: what: "),
    ("detail.steps", [{"_id": "no id", "what": "Soak"}], "doesn't accept this value"),
    ("detail.method", "\ud800", "doesn't accept this value"),
    ("detail.source", {"a": [{"$where": 1}]}, "$where"),
    ("detail.source", {"a.b": 1}, "a.b"),
    ("detail.format", "word", "not a valid choice"),
    ("detail.unheard", 1, "doesn't exist"),
    ("detail.steps.0.what", "x", "doesn't exist"),
    ("detail", {}, "doesn't exist"),
    ("nonce", ObjectId(), "doesn't exist"),
    ("type", "folder", "doesn't exist"),
    ("$set", 1, "doesn't exist"),
    ("draft", {}, "doesn't exist"),
]


@pytest.mark.parametrize(("path", "value", "why"), REFUSED)
def test_services_refuse_invalid_values(recipes, mongo, path, value, why):
    made, seen = make(recipes), None
    before, seen = stored(made), nonce(made)
    for write in (
        lambda: editing.save(EDITOR, made, seen, {path: value}),
        lambda: drafts.save_draft(EDITOR, made, seen, {path: value}),
        lambda: editing.create(
            EDITOR, type="recipe", parent_id=recipes, slug="", title="T", fields={"detail.course": "main", path: value}
        ),
    ):
        with pytest.raises(InvalidField) as refused:
            write()
        assert refused.value.path == path
        assert why in str(refused.value)
    assert stored(made) == before
    assert mongo["cms.nodes"].count_documents({}) == 2


def test_required_fields_must_be_given(recipes):
    with pytest.raises(InvalidField) as refused:
        editing.create(EDITOR, type="recipe", parent_id=recipes, slug="", title="T")
    assert refused.value.path == "detail.course"
    assert make(recipes)


def test_edits_of_different_fields_and_items_all_survive(recipes):
    made = make(recipes, ingredients=["beans", "salt", "oil"], yields={"number": 1, "unit": "l"}, method="One\n\nTwo")
    seen = nonce(made)
    save(made, seen, detail__servings=6, detail__ingredients=["beans", "pepper", "oil"], detail__method="One!\n\nTwo")
    saved = save(
        made,
        seen,
        detail__course="starter",
        detail__ingredients=["white beans", "salt", "oil", "bread"],
        detail__method="One\n\nTwo!",
        detail__yields={"number": 2, "unit": "l"},
    )
    said = detail(made)
    assert (said["servings"], said["course"]) == (6, "starter")
    assert said["ingredients"] == ["white beans", "pepper", "oil", "bread"]
    assert said["method"] == "One!\n\nTwo!"
    assert said["yields"]["number"] == Decimal128("2.00")
    assert set(saved.merged) == {"detail.ingredients", "detail.method"}


def test_parts_merge_by_their_ids_and_fields(recipes):
    a, b, c = (ObjectId() for _ in range(3))
    made = make(recipes, steps=[{"_id": a, "what": "Soak"}, {"_id": b, "what": "Cook"}, {"_id": c, "what": "Eat"}])
    seen = nonce(made)
    steps = detail(made)["steps"]
    save(made, seen, detail__steps=[steps[1], {**steps[0], "minutes": 60}])
    save(made, seen, detail__steps=[{**steps[0], "what": "Soak well"}, *steps[1:], {"what": "Wash up"}])
    told = [(step["what"], step["minutes"]) for step in detail(made)["steps"]]
    assert sorted(told) == [("Cook", 0), ("Soak well", 60), ("Wash up", 0)]


@pytest.mark.parametrize("orders", [("bac", "bca"), ("bca", "bac"), ("cab", "acb")])
def test_part_moved_by_both_is_stored_once(recipes, orders):
    made = make(recipes, steps=[{"what": what} for what in "abc"])
    seen, steps = nonce(made), {step["what"]: step for step in detail(made)["steps"]}
    for order in orders:
        save(made, seen, detail__steps=[steps[what] for what in order])
    assert sorted(step["what"] for step in detail(made)["steps"]) == ["a", "b", "c"]


@pytest.mark.parametrize("orders", [("bc", "bca"), ("bca", "bc")])
def test_part_removed_by_one_and_moved_by_the_other_is_removed(recipes, orders):
    made = make(recipes, steps=[{"what": what} for what in "abc"])
    seen, steps = nonce(made), {step["what"]: step for step in detail(made)["steps"]}
    for order in orders:
        save(made, seen, detail__steps=[steps[what] for what in order])
    assert [step["what"] for step in detail(made)["steps"]] == ["b", "c"]


def test_part_added_by_both_with_one_id_is_stored_once(recipes):
    made = make(recipes, steps=[{"what": "Soak"}, {"what": "Cook"}])
    seen, steps = nonce(made), detail(made)["steps"]
    new = {"_id": ObjectId(), "what": "Wash"}
    save(made, seen, detail__steps=[new, *steps])
    save(made, seen, detail__steps=[*steps, new])
    assert [step["what"] for step in detail(made)["steps"]] == ["Wash", "Soak", "Cook"]


@pytest.mark.parametrize(
    ("field", "before", "theirs", "mine"),
    [
        ("servings", 2, 4, 6),
        ("servings", 2, 0, 6),
        ("course", "main", "starter", "dessert"),
        ("since", date(2020, 1, 1), date(2021, 1, 1), None),
        ("ingredients", ["beans", "salt"], ["beans", "pepper"], ["beans", "chili"]),
        ("ingredients", ["beans", "salt"], ["beans"], ["beans", "chili"]),
    ],
)
def test_field_changed_by_both_is_a_conflict(recipes, field, before, theirs, mine):
    made = make(recipes, **{field: before})
    seen = nonce(made)
    save(made, seen, **{f"detail__{field}": theirs})
    with pytest.raises(EditConflict) as conflict:
        save(made, seen, **{f"detail__{field}": mine})
    assert [one.path for one in conflict.value.merge.conflicts] == [f"detail.{field}"]


def test_part_removed_and_changed_is_a_conflict(recipes):
    made = make(recipes, steps=[{"what": "Soak"}, {"what": "Cook"}])
    seen, (soak, cook) = nonce(made), detail(made)["steps"]
    save(made, seen, detail__steps=[cook])
    with pytest.raises(EditConflict) as conflict:
        save(made, seen, detail__steps=[{**soak, "minutes": 9}, cook])
    (one,) = conflict.value.merge.conflicts
    assert [step["what"] for step in one.theirs] == ["Cook"]
    assert sorted(step["what"] for step in one.mine) == ["Cook", "Soak"]
    save(made, seen, detail__steps=[cook])


def test_equal_values_are_not_written_again(recipes, commands):
    made = make(recipes, since=date(2020, 1, 1), tasted=MOMENT, price="4.5", steps=[{"what": "Soak"}])
    seen, said = nonce(made), detail(made)
    again = {"since": date(2020, 1, 1), "tasted": MOMENT, "price": Decimal("4.50"), "steps": said["steps"]}
    saved = save(made, seen, **{f"detail__{name}": value for name, value in again.items()})
    assert (saved.changed, nonce(made)) == ((), seen)


def test_search_finds_the_values_of_fields(recipes, client):
    make(recipes, ingredients=["borlotti"], yields={"unit": "pots"}, steps=[{"what": "Simmer"}], method="*Slowly*")
    for word in ("borlotti", "pots", "simmer", "slowly", "course"):
        assert "/cooking/stew" in client.get("/search", {"q": word}).content.decode(), word


def test_copy_contains_only_declared_fields(recipes, mongo):
    made = make(recipes, servings=7)
    mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"metadata.detail.gone": 1}})
    copied = duplicating.duplicate(EDITOR, made, parent_id=recipes).id
    assert detail(copied)["servings"] == 7
    assert "gone" not in detail(copied)


def test_validator_knows_the_types_of_declared_fields(judged, recipes, mongo):
    indexes.ensure()
    made, folder = make(recipes), node("folder", "folder")
    for where, path, value in ((made, "servings", "four"), (made, "steps", [{"what": 5}]), (folder, "text", 5)):
        with pytest.raises(WriteError, match="validation"):
            mongo["cms.nodes"].update_one({"_id": where}, {"$set": {f"metadata.detail.{path}": value}})
    for where, change in ((made, {"detail.unheard": 5}), (made, {"detail.servings": 5}), (made, {"type": "menu"})):
        mongo["cms.nodes"].update_one({"_id": where}, {"$set": {f"metadata.{name}": v for name, v in change.items()}})
    save(folder, nonce(folder), title="New")
