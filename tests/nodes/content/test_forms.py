"""The form of a declared type: its fields, refusals, conflict page, history and differences."""

from datetime import UTC, date, datetime

import pytest
from bson import ObjectId
from django import forms
from django.db import models
from django_mongodb_backend.fields import ArrayField

from cms.testing.build import node, nonce, save, stored
from cms.testing.editors import fields
from editor import declared
from editor.forms import form_class
from editor.parts import MOST, PartsField
from nodes.content import Part, PhotoField
from tests.support.nodes.photo_build import gallery, upload


@pytest.fixture
def stew(recipes):
    return node(
        "recipe",
        "stew",
        parent=recipes,
        text="Hot",
        **{
            "detail.course": "main",
            "detail.ingredients": ["beans", "salt"],
            "detail.since": date(2020, 2, 29),
            "detail.tasted": datetime(2024, 5, 1, 18, 30, 7, 123_000, UTC),
            "detail.price": "4.50",
        },
    )


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def test_type_with_fields_has_its_own_form(recipes):
    assert form_class("recipe").details[:3] == ("servings", "course", "ingredients")
    assert form_class("recipe") is form_class("recipe")
    assert set(form_class("blog-entry").details) == {"picture", "language", "seo_title", "seo_description", "is_pinned"}


def test_new_node_has_defaults_and_saves_typed_values(recipes, editor):
    ann, address = editor(), f"/admin/nodes/node/add/?type=recipe&section={recipes}"
    form = ann.open(address)
    assert form["servings"] == ["2"]
    sent = ann.send(
        address, form, title="Stew", servings="5", course="main", ingredients="beans\r\n\r\n salt \r\n", is_vegan="on"
    )
    assert sent.status_code == 302
    said = stored(ObjectId(sent["Location"].split("/")[-3]))
    assert said["detail"]["servings"] == 5
    assert said["detail"]["ingredients"] == ["beans", "salt"]
    assert said["detail"]["is_vegan"] is True


def test_unchanged_fields_stay_unchanged(stew, editor):
    ann, before = editor(), stored(stew)
    form = ann.open(change(stew))
    assert form["ingredients"] == ["beans\nsalt"]
    assert form["since"] == ["2020-02-29"]
    assert "is_vegan" not in form
    assert ann.send(change(stew), form).status_code == 302
    assert stored(stew) == before


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"servings": "-1"}, "greater than or equal to 0"),
        ({"servings": ""}, "This field is required."),
        ({"course": "supper"}, "Select a valid choice"),
        ({"ingredients": "beans\n" + "x" * 201}, "2: Ensure this value has at most 200"),
        ({"since": "30.2.2020"}, "Enter a valid date."),
    ],
)
def test_refused_value_is_shown_at_its_field(stew, editor, typed, message):
    ann, before = editor(), stored(stew)
    answer = ann.send(change(stew), ann.open(change(stew)), **typed)
    html = answer.content.decode()
    assert answer.status_code == 200
    (name,) = typed
    assert message in html.partition(f"field-{name}")[2].partition("form-row")[0]
    assert stored(stew) == before


def test_edits_of_different_fields_and_items_are_merged(stew, editor):
    ann, bob = editor(), editor("bob")
    theirs, mine = ann.open(change(stew)), bob.open(change(stew))
    assert ann.send(change(stew), theirs, servings="6", ingredients="white beans\nsalt").status_code == 302
    answer = bob.client.post(change(stew), {**mine, "ingredients": "beans\nsalt\noil", "_continue": "x"}, follow=True)
    assert "Merged with changes by ann: " in answer.content.decode()
    said = stored(stew)["detail"]
    assert (said["servings"], said["ingredients"]) == (6, ["white beans", "salt", "oil"])


FIELDS = [
    ("servings", "4", "6", 4, 6),
    ("course", "starter", "dessert", "starter", "dessert"),
    ("ingredients", "beans\nsugar", "beans\npepper", ["beans", "sugar"], ["beans", "pepper"]),
    ("since", "2021-01-01", "2022-01-01", datetime(2021, 1, 1, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC)),
]


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("choice", ["mine", "theirs", "edit"])
@pytest.mark.parametrize(("name", "theirs", "mine", "stored_theirs", "stored_mine"), FIELDS)
def test_field_changed_by_both_is_decided_on_the_conflict_page(
    stew, editor, name, theirs, mine, stored_theirs, stored_mine, choice
):
    ann, bob = editor(), editor("bob")
    form, other = ann.open(change(stew)), bob.open(change(stew))
    assert bob.send(change(stew), other, **{name: theirs}).status_code == 302
    asked = ann.send(change(stew), form, **{name: mine})
    assert asked.status_code == 409
    html = asked.content.decode()
    assert f'id="clash-{name}"' in html
    page = fields(html)
    assert page[f"mine-{name}"] == [mine]
    assert page[f"theirs-{name}"] == [theirs]
    assert ann.send(change(stew), page, **{f"choice-{name}": choice}).status_code == 302
    assert stored(stew)["detail"][name] == (stored_theirs if choice == "theirs" else stored_mine)


@pytest.mark.parametrize(("choice", "wanted"), [("theirs", True), ("mine", False)])
def test_conflicting_check_mark_can_be_decided(stew, editor, mongo, choice, wanted):
    """Both can only have made the same change, unless the base of the form is no longer known."""
    ann = editor()
    form = ann.open(change(stew))
    save(stew, nonce(stew), detail__is_vegan=True)
    mongo["cms.revisions"].delete_one({"_id": ObjectId(form["nonce"][0])})
    asked = ann.send(change(stew), form)
    assert asked.status_code == 409
    page = fields(asked.content.decode())
    assert ann.send(change(stew), page, **{"choice-is_vegan": choice}).status_code == 302
    assert stored(stew)["detail"]["is_vegan"] is wanted


def test_history_and_differences_name_the_fields(stew, editor):
    ann, old = editor(), nonce(stew)
    save(stew, old, detail__course="starter", detail__is_vegan=True, detail__ingredients=["beans", "pepper"])
    history = ann.client.get(f"/admin/nodes/node/{stew}/history/").content.decode()
    assert "Ingredients, Is vegan, Course" in history
    html = ann.client.get(f"/admin/nodes/node/{stew}/compare/?old={old}&new={nonce(stew)}").content.decode()
    for before, after in (("Main course", "Starter"), ("salt", "pepper"), ("No", "Yes")):
        assert (f"<del>{before}</del>" in html, f"<ins>{after}</ins>" in html) == (True, True)


def test_restoring_a_version_drops_removed_fields(stew, editor, mongo):
    ann, old = editor(), nonce(stew)
    mongo["cms.revisions"].update_one({"_id": old}, {"$set": {"metadata.detail.gone": 1}})
    save(stew, old, detail__servings=9)
    address = f"/admin/nodes/node/{stew}/history/{old}/"
    html = ann.client.get(address).content.decode()
    form = fields(html, "content-main")
    assert ann.client.post(address, form).status_code == 302
    assert stored(stew)["detail"]["servings"] == 2
    assert "gone" not in stored(stew)["detail"]


def _with_rows(form, *rows):
    """Return a form with the typed values in the rows of steps, from the first."""
    return form | {f"steps-{number}-{key}": [value] for number, row in enumerate(rows) for key, value in row.items()}


class TestParts:
    @pytest.fixture
    def cooked(self, stew):
        save(stew, nonce(stew), detail__steps=[{"what": "Soak", "minutes": 60}, {"what": "Cook", "minutes": 90}])
        return stew

    def steps(self, node_id):
        return [(step["what"], step["minutes"]) for step in stored(node_id)["detail"]["steps"] or ()]

    def test_form_has_rows_for_existing_and_new_parts(self, cooked, editor):
        form = editor().open(change(cooked))
        assert form["steps-count"] == ["5"]
        assert [form[f"steps-{n}-what"] for n in range(5)] == [["Soak"], ["Cook"], [""], [""], [""]]
        assert form["yields-count"] == ["1"]

    def test_unchanged_rows_stay_unchanged(self, cooked, editor):
        ann, before = editor(), stored(cooked)
        assert ann.send(change(cooked), ann.open(change(cooked))).status_code == 302
        assert stored(cooked) == before

    def test_rows_are_added_removed_changed_and_ordered(self, cooked, editor):
        ann, ids = editor(), [step["_id"] for step in stored(cooked)["detail"]["steps"]]
        form = _with_rows(
            ann.open(change(cooked)), {"minutes": "30"}, {}, {"what": "Shop", "minutes": "5", "ORDER": "0.5"}
        )
        assert ann.send(change(cooked), form).status_code == 302
        assert self.steps(cooked) == [("Shop", 5), ("Soak", 30), ("Cook", 90)]
        assert [step["_id"] for step in stored(cooked)["detail"]["steps"]][1:] == ids
        form = _with_rows(ann.open(change(cooked)), {"DELETE": "on"}, {"ORDER": "9"})
        assert ann.send(change(cooked), form).status_code == 302
        assert self.steps(cooked) == [("Cook", 90), ("Soak", 30)]

    def test_refused_row_is_shown_with_its_number_and_input(self, cooked, editor):
        ann, before = editor(), stored(cooked)
        form = _with_rows(ann.open(change(cooked)), {"what": ""}, {"minutes": "-3"}, {"what": "New <b>"})
        answer = ann.send(change(cooked), form)
        html = answer.content.decode()
        assert answer.status_code == 200
        assert "1: What: This field is required." in html
        assert "2: Minutes: Ensure this value is greater than or equal to 0." in html
        again = fields(html)
        assert again["steps-2-what"] == ["New <b>"]
        assert again["steps-1-minutes"] == ["-3"]
        assert stored(cooked) == before

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize("count", ["-1", "x", "99999999", "²", ""])
    def test_forged_count_loses_nothing(self, cooked, editor, count):
        ann, before = editor(), stored(cooked)["detail"]["steps"]
        form = ann.open(change(cooked)) | {"steps-count": [count]}
        ann.send(change(cooked), form)
        assert stored(cooked)["detail"]["steps"] == before

    def test_more_rows_than_the_limit_are_refused_without_loss(self, cooked, editor):
        ann, before = editor(), stored(cooked)["detail"]["steps"]
        more = {f"steps-{n}-what": [f"Stir {n}"] for n in range(2, MOST + 1)}
        answer = ann.send(change(cooked), ann.open(change(cooked)) | more, **{"steps-count": [str(MOST + 1)]})
        assert "Use at most 200." in answer.content.decode()
        assert fields(answer.content.decode())[f"steps-{MOST}-what"] == [f"Stir {MOST}"]
        assert stored(cooked)["detail"]["steps"] == before

    def test_existing_rows_beyond_the_limit_are_kept(self, cooked, editor):
        ann = editor()
        save(cooked, nonce(cooked), detail__steps=[{"what": f"Stir {n}"} for n in range(MOST + 5)])
        form = _with_rows(ann.open(change(cooked)), {"what": "Soak"})
        assert ann.send(change(cooked), form).status_code == 302
        assert [what for what, _minutes in self.steps(cooked)] == ["Soak", *(f"Stir {n}" for n in range(1, MOST + 5))]

    @pytest.mark.slow_after(1)
    @pytest.mark.parametrize(
        "forged",
        [
            "[" * 100_000,
            "9" * 5_000,
            "[1]",
            r'[{"what": "\ud800", "minutes": {"$gt": 1}}]',
            '[{"what": ["x"], "minutes": ["1"], "id": {"a": 1}}]',
        ],
    )
    def test_forged_rows_and_tags_cause_no_error(self, cooked, editor, forged):
        ann, before = editor(), stored(cooked)["detail"]["steps"]
        for name in ("steps", "tags_seen"):
            assert ann.send(change(cooked), ann.open(change(cooked)), **{name: forged}).status_code in (200, 302)
        assert stored(cooked)["detail"]["steps"] == before

    def test_edits_of_different_rows_are_merged(self, cooked, editor):
        ann, bob = editor(), editor("bob")
        theirs, mine = ann.open(change(cooked)), bob.open(change(cooked))
        assert ann.send(change(cooked), _with_rows(theirs, {"minutes": "30"})).status_code == 302
        assert bob.send(change(cooked), _with_rows(mine, {}, {"what": "Simmer"}, {"what": "Eat"})).status_code == 302
        assert self.steps(cooked) == [("Soak", 30), ("Simmer", 90), ("Eat", 0)]

    @pytest.mark.slow_after(1)
    @pytest.mark.parametrize(("choice", "first"), [("mine", "Boil"), ("theirs", "Wash"), ("edit", "Boil")])
    def test_row_changed_by_both_is_decided_on_the_conflict_page(self, cooked, editor, choice, first):
        ann, bob = editor(), editor("bob")
        theirs, mine = ann.open(change(cooked)), bob.open(change(cooked))
        assert ann.send(change(cooked), _with_rows(theirs, {"what": "Wash"})).status_code == 302
        asked = bob.send(change(cooked), _with_rows(mine, {"what": "Boil"}, {"minutes": "10"}))
        assert asked.status_code == 409
        html = asked.content.decode()
        assert ("<del>Wash</del>" in html, "<ins>Boil</ins>" in html) == (True, True)
        decided = bob.send(change(cooked), fields(html), **{"choice-steps": choice})
        assert decided.status_code == 302
        assert self.steps(cooked) == [(first, 60), ("Cook", 10)]

    def test_optional_part_is_added_and_removed(self, stew, editor):
        ann = editor()
        form = ann.open(change(stew)) | {"yields-0-number": ["1.5"], "yields-0-unit": ["l"]}
        assert ann.send(change(stew), form).status_code == 302
        assert stored(stew)["detail"]["yields"]["unit"] == "l"
        form = ann.open(change(stew)) | {"yields-0-number": ["1.00"], "yields-0-unit": [""]}
        assert ann.send(change(stew), form).status_code == 302
        assert str(stored(stew)["detail"]["yields"]["number"]) == "1.00"
        form = ann.open(change(stew)) | {"yields-0-DELETE": ["on"]}
        assert ann.send(change(stew), form).status_code == 302
        assert stored(stew)["detail"]["yields"] is None


def test_hidden_fields_of_a_part_are_kept():
    class Origin(Part):
        name = models.CharField(max_length=50)
        code = models.CharField(max_length=5, editable=False, default="")

    known = Origin(id=ObjectId(), name="Here", code="kept")
    field = PartsField(Origin, {"name": forms.CharField()}, many=True)
    field.seen = [known]
    (row,) = field.prepare_value(field.seen)
    found = field.clean([row | {"name": "There"}, {"id": "", "name": "New"}])
    assert found == [{"_id": known.id, "name": "There", "code": "kept"}, {"name": "New"}]


def test_list_of_photos_accepts_ids_and_urls_and_offers_the_chooser(mongo):
    photo = upload(gallery("plates"), name="lake.jpg")
    field = declared.form_field(ArrayField(PhotoField(), verbose_name="plates", blank=True))
    html = field.widget.render("plates", field.prepare_value([photo]))
    assert "data-photos" in html
    assert "/plates/lake</textarea>" in html
    assert field.clean(f"photo:{photo}\n/plates/lake") == [photo, photo]
    assert "data-photos" not in str(declared.form_field(ArrayField(models.CharField())).widget.render("x", ""))
