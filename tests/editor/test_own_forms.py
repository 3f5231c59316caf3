"""Form classes, field groups and panels of projects in the edit form."""

import logging

import pytest
from django import forms
from django.core.exceptions import ImproperlyConfigured
from django.utils.html import format_html

from cms.testing.build import node, nonce, save, stored
from cms.testing.editors import fields
from editor.extensions import FieldGroup, Panel
from editor.forms import NodeForm, form_class
from tests.support.nodes.content import registered
from tests.support.nodes.extensions import Gig, gig_admin


class TwoInputs(forms.MultiWidget):
    """The hall and the floor, in two inputs that send one value."""

    def __init__(self):
        super().__init__([forms.TextInput, forms.TextInput])

    def decompress(self, value):
        return (value or "").split("/") if value and "/" in value else [value or "", ""]

    def value_from_datadict(self, data, files, name):
        return "/".join(filter(None, (text or "" for text in super().value_from_datadict(data, files, name))))


class Shown(forms.TextInput):
    """A widget that sends nothing."""

    def render(self, name, value, attrs=None, renderer=None):
        return format_html("<b>{}</b>", value)


class Count(Panel):
    label = "Signups"
    template = "tests/panel.html"

    def context(self, node, user):
        return {"text": f"Signups: {node.metadata.detail.seats} <{user.get_username()}>"}


@pytest.fixture(autouse=True)
def templates(settings, tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/panel.html").write_text("<p class='own'>{{ text }}</p>")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path, *settings.TEMPLATES[0]["DIRS"]]}]


@pytest.fixture
def gig(mongo):
    with registered(Gig):
        yield node("gig", "jazz", parent=node("blog", "blog"), **{"detail.hall": "Red/2", "detail.doors": "7 pm"})


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def form_of(person, node_id):
    return person.client.get(change(node_id)).content.decode()


def test_field_group_shows_its_fields_in_order_and_only_once(gig, editor):
    with gig_admin(panels=[FieldGroup("Place & time", ["doors", "hall"]), FieldGroup("Line-up", ["acts", "seats"])]):
        html = form_of(editor(), gig)
    assert "<summary>Place &amp; time</summary>" in html
    assert html.index('name="doors"') < html.index('name="hall"') < html.index("<summary>Details</summary>")
    # A group with rows is in the main column.
    assert html.index("<legend>Line-up</legend>") < html.index('name="seats"') < html.index('id="settings"')
    for name in ("doors", "hall", "seats", "acts-count", "notes", "moods", "starts_0"):
        assert html.count(f'name="{name}"') == 1


def test_saving_with_own_groups_and_widgets_keeps_every_value(gig, editor):
    class GigForm(NodeForm):
        class Meta:
            widgets = {"hall": TwoInputs(), "doors": Shown}
            labels = {"seats": "Chairs", "title": "Name of the concert"}
            help_texts = {"seats": "How many people can sit."}

    ann, before = editor(), stored(gig)["detail"]
    with gig_admin(form_class=GigForm, panels=[FieldGroup("Place", ["hall"])]):
        html = form_of(ann, gig)
        for text in (">Chairs<", ">Name of the concert<", "How many people can sit.", "<b>7 pm</b>", 'name="hall_1"'):
            assert text in html
        assert ann.send(change(gig), fields(html), seats="11").status_code == 302
        assert stored(gig)["detail"] == {**before, "seats": 11}
        assert ann.send(change(gig), ann.open(change(gig)), hall_0="Blue", hall_1="3").status_code == 302
    assert stored(gig)["detail"] == {**before, "seats": 11, "hall": "Blue/3"}
    # The shared form and the forms of other types aren't changed.
    assert ">Chairs<" not in form_of(ann, gig)
    assert str(NodeForm.base_fields["title"].label) == "Title"


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("choice", "expected"), [("mine", "Mine/1"), ("theirs", "Theirs/9"), ("edit", "Both/5")])
def test_conflict_with_an_own_widget_loses_no_value(gig, editor, choice, expected):
    class GigForm(NodeForm):
        class Meta:
            widgets = {"hall": TwoInputs}

    ann = editor()
    with gig_admin(form_class=GigForm):
        form = ann.open(change(gig))
        save(gig, nonce(gig), detail__hall="Theirs/9", detail__seats=99)
        asked = ann.send(change(gig), form, hall_0="Mine", hall_1="1", doors="8 pm")
        assert asked.status_code == 409
        deciding = fields(asked.content.decode())
        assert stored(gig)["detail"]["hall"] == "Theirs/9"
        typed = {"hall_0": "Both", "hall_1": "5"} if choice == "edit" else {}
        assert ann.send(change(gig), deciding, **typed, **{"choice-hall": choice}).status_code == 302
    detail = stored(gig)["detail"]
    assert (detail["hall"], detail["doors"], detail["seats"]) == (expected, "8 pm", 99)


def test_computed_value_is_saved_even_if_its_input_is_unchanged(gig, editor):
    class GigForm(NodeForm):
        def clean(self):
            data = super().clean()
            data["doors"] = f"before {data['seats']}"
            data["moods"].append("new")
            return {"doors": data["doors"], "moods": data["moods"]}

    ann = editor()
    with gig_admin(form_class=GigForm):
        # The method returns only two values. All others are saved, too.
        assert ann.send(change(gig), ann.open(change(gig)), seats="20", hall="Green").status_code == 302
    detail = stored(gig)["detail"]
    assert (detail["doors"], detail["seats"], detail["hall"], detail["moods"]) == ("before 20", 20, "Green", ["new"])


def test_disabled_fields_keep_their_stored_values(gig, editor):
    class GigForm(NodeForm):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            for name in ("doors", "moods", "starts", "acts", "slug", "published"):
                self.fields[name].disabled = True

    save(gig, nonce(gig), detail__moods=["calm"], detail__acts=[{"name": "Trio"}])
    ann, before = editor(), stored(gig)
    with gig_admin(form_class=GigForm):
        form = ann.open(change(gig))
        forged = {"doors": "forged", "moods": "forged", "slug": "forged", "acts-0-name": "forged", "published_0": ""}
        assert ann.send(change(gig), form | forged, seats="12").status_code == 302
    after = stored(gig)
    assert after["detail"] == {**before["detail"], "seats": 12}
    assert (after["slug"], after["published"]) == (before["slug"], before["published"])


def test_form_class_that_removes_a_field_or_a_widget_is_refused(gig, editor):
    class Removes(NodeForm):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            del self.fields["hall"]

    class Replaces(NodeForm):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.fields["hall"].widget = TwoInputs()

    for form, problem in ((Removes, "removes hall"), (Replaces, "replaces the widget of hall")):
        with gig_admin(form_class=form), pytest.raises(ImproperlyConfigured, match=problem):
            form_class("gig")(user=editor(problem).user, type="gig")


def test_own_form_field_replaces_the_generated_one(gig, editor):
    class GigForm(NodeForm):
        moods = forms.MultipleChoiceField(
            choices=[("calm", "Calm"), ("loud", "Loud")], required=False, widget=forms.CheckboxSelectMultiple
        )

    ann = editor()
    with gig_admin(form_class=GigForm):
        assert ann.send(change(gig), ann.open(change(gig)), moods=["calm", "loud"]).status_code == 302
        assert stored(gig)["detail"]["moods"] == ["calm", "loud"]
        assert ann.send(change(gig), ann.open(change(gig)), seats="3").status_code == 302
    assert stored(gig)["detail"]["moods"] == ["calm", "loud"]


def test_cross_field_errors_of_a_form_class_are_next_to_the_field(gig, editor):
    class GigForm(NodeForm):
        def clean(self):
            data = super().clean()
            if data.get("seats") == 13:
                self.add_error("seats", "Not thirteen.")
            return data

    ann = editor()
    with gig_admin(form_class=GigForm, panels=[FieldGroup("Place", ["seats"])]):
        answer = ann.send(change(gig), ann.open(change(gig)), seats="13", hall="Typed")
        html = answer.content.decode()
    assert answer.status_code == 200
    assert "Not thirteen." in html
    assert 'value="Typed"' in html
    assert stored(gig)["detail"]["seats"] == 10


def test_panel_gets_the_node_and_the_user_and_is_escaped(gig, editor):
    ann = editor("ann<b>")
    with gig_admin(panels=[Count]):
        html = form_of(ann, gig)
        assert "<p class='own'>Signups: 10 &lt;ann&lt;b&gt;&gt;</p>" in html
        assert "class='own'" not in ann.client.get("/admin/nodes/node/add/?type=gig").content.decode()
        assert "class='own'" not in form_of(ann, node(slug="other"))


def test_panel_is_hidden_without_its_permission(gig, editor, author):
    panel = type("Hidden", (Count,), {"permission": "nodes.publish_node"})
    save(gig, nonce(gig), author={"_id": author.user.pk, "name": "Jo"}, published=None)
    with gig_admin(panels=[panel]):
        assert "Signups: 10" in form_of(editor(), gig)
        html = form_of(author, gig)
    assert 'name="hall"' in html
    assert "Signups" not in html


def test_failing_panel_leaves_the_form_usable(gig, editor, caplog):
    class Broken(Count):
        def context(self, node, user):
            raise ZeroDivisionError

    ann = editor()
    with gig_admin(panels=[Broken]), caplog.at_level(logging.ERROR):
        html = form_of(ann, gig)
        assert "be shown because of an error" in html
        assert ann.send(change(gig), fields(html), seats="15").status_code == 302
    assert stored(gig)["detail"]["seats"] == 15
    assert any("Broken failed" in record.message and record.exc_info for record in caplog.records)
