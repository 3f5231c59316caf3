"""System checks for the extensions of the admin: each mistake in a declaration gives the id of its check."""

import pytest
from django import forms
from django.core.management import call_command
from django.db import models
from django_mongodb_backend.fields import ArrayField

from editor import checks
from editor.extensions import (
    BulkAction,
    Column,
    ContentAdmin,
    DashboardTile,
    FieldGroup,
    NavigationItem,
    Panel,
    register,
    unregister,
)
from editor.forms import NodeForm, form_class
from nodes.actions import NodeAction, Trash
from nodes.content import Content, Page
from tests.support.nodes.content import registered


class Trip(Page):
    """A journey."""

    starts = models.DateTimeField(null=True, blank=True)
    hall = models.CharField(max_length=50)
    moods = ArrayField(models.CharField(max_length=20), default=list, blank=True)


class Good(Panel):
    label = "Good"
    template = "editor/_box.html"


class Hall(Column):
    label = "Hall"
    fields = ["hall"]

    def value(self, node, user):
        return node.metadata.detail.hall


class Remove(BulkAction):
    label = "Remove"
    action_class = Trash


class Unfinished(NodeAction):
    """An action without `execute`."""


class TripForm(NodeForm):
    hall = forms.ChoiceField(choices=[("red", "Red")])

    class Meta:
        widgets = {"moods": forms.Textarea({"rows": 2})}
        labels = {"starts": "Departure", "title": "Destination"}
        help_texts = {"summary": "Where we go."}


def problems(*extensions):
    for extension in extensions:
        register(extension)
    try:
        with registered(Trip):
            return [(message.id, message.msg) for message in checks.check_extensions()]
    finally:
        for extension in extensions:
            unregister(extension)


def admin(**attributes):
    return type("TripAdmin", (ContentAdmin,), {"content_types": [Trip], **attributes})


def made(base, **attributes):
    return type("Made", (base,), attributes)


def form(**attributes):
    meta = {name: attributes.pop(name) for name in ("widgets", "labels", "help_texts", "exclude") if name in attributes}
    return admin(form_class=type(NodeForm)("Made", (NodeForm,), {**attributes, "Meta": type("Meta", (), meta)}))


TILE = {"label": "Tile", "template": "editor/_box.html"}
ITEM = {"label": "Item", "url_name": "admin:nodes_node_trash"}


def test_sound_declarations_give_no_messages():
    assert (
        problems(
            admin(
                form_class=TripForm,
                panels=[FieldGroup("A", ["hall", "picture"]), Good],
                columns=[Hall],
                actions=[Remove],
            ),
            admin(content_types=[Content], panels=[Good], actions=[Remove]),
            made(DashboardTile, **TILE, permission="nodes.publish_node"),
            made(NavigationItem, **ITEM, icon="root/favicon.ico"),
        )
        == []
    )


@pytest.mark.parametrize(
    ("declaration", "id", "part"),
    [
        (admin(content_types=[]), "E001", "content_types is empty"),
        (admin(content_types=["trip"]), "E001", "contains 'trip'"),
        (admin(content_types=[Good]), "E001", "which is not a content type"),
        (admin(form_class=forms.Form), "E002", "is not a NodeForm"),
        (form(price=forms.IntegerField()), "E003", "declares “price”"),
        (form(summary=forms.CharField()), "E003", "declares “summary”"),
        (form(hall=None), "E003", "removes “hall”"),
        (form(title=None), "E003", "removes “title”"),
        (form(widgets={"price": forms.Textarea}), "E003", "Meta.widgets for “price”"),
        (form(widgets={"title": forms.TextInput}), "E003", "Meta.widgets for “title”"),
        (form(labels={"price": "Price"}), "E003", "Meta.labels for “price”"),
        (form(help_texts={"section": "Where?"}), "E003", "Meta.help_texts for “section”"),
        (form(exclude=["hall"]), "E003", "unknown attribute “exclude”"),
        (form(widgets={"starts": forms.DateTimeInput}), "E004", "isn't a MomentInput"),
        (form(widgets={"moods": forms.CheckboxSelectMultiple()}), "E004", "isn't a Textarea"),
        (form(widgets={"hall": "radio"}), "E004", "isn't a Widget"),
        (admin(panels=[FieldGroup("A", ["price"])]), "E005", "“price”, which is not a field"),
        (admin(panels=[FieldGroup("A", ["hall"]), FieldGroup("B", ["hall"])]), "E005", "in several groups"),
        (admin(columns=[made(Hall, fields=["price"])]), "E006", "“price”"),
        (admin(columns=[Hall], content_types=[Content]), "E006", "not a field of all its content types"),
        (admin(columns=[made(Column, label="Empty")]), "E006", "has no values"),
        (admin(actions=[made(BulkAction, label="Empty")]), "E007", "action_class"),
        (admin(actions=[made(Remove, action_class=Good)]), "E007", "is not an action"),
        (admin(actions=[made(Remove, action_class=Unfinished)]), "E007", "is not an action"),
        (admin(panels=[Good()]), "E008", "not a subclass of Panel"),
        (admin(columns=["hall"]), "E008", "not a subclass of Column"),
        (admin(actions=[Trash]), "E008", "not a subclass of BulkAction"),
        (admin(panels=[made(Good, label="")]), "E009", "has no label"),
        (made(DashboardTile, **TILE, permission="publish"), "E009", "permission can't be “publish”"),
        (made(NavigationItem, **ITEM, permission="shop.view_order"), "E009", "“shop.view_order”"),
        (made(DashboardTile, label="Tile", template="tests/missing.html"), "E010", "“tests/missing.html”"),
        (admin(panels=[made(Good, template="")]), "E010", "doesn't exist"),
        (made(NavigationItem, label="Item", url_name="shop:orders"), "E011", "“shop:orders”"),
        (made(NavigationItem, label="Item", url_name="admin:nodes_node_change"), "E011", "URL without arguments"),
        (made(NavigationItem, **ITEM, icon="shop/missing.svg"), "E011", "not a static file"),
    ],
)
def test_mistake_is_reported(declaration, id, part):
    ((found, message),) = problems(declaration)
    assert found == f"editor.{id}"
    assert part in message


def test_second_form_class_of_a_type_is_reported():
    messages = problems(admin(form_class=TripForm), admin(form_class=TripForm))
    assert [(id, "has 2 form classes" in message) for id, message in messages] == [("editor.E002", True)]


def test_form_class_of_a_type_replaces_those_of_its_base_classes():
    declarations = (admin(form_class=NodeForm, content_types=[Page, Content]), admin(form_class=TripForm))
    assert problems(*declarations) == []
    for extension in declarations:
        register(extension)
    try:
        with registered(Trip):
            assert issubclass(form_class("trip"), TripForm)
            assert not issubclass(form_class("blog"), TripForm)
    finally:
        for extension in declarations:
            unregister(extension)


def test_template_with_a_syntax_error_is_reported(settings, tmp_path):
    (tmp_path / "wrong.html").write_text("{% if %}")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path, *settings.TEMPLATES[0]["DIRS"]]}]
    ((id, message),) = problems(made(DashboardTile, label="Tile", template="wrong.html"))
    assert id == "editor.E010"
    assert "is invalid" in message


def test_checks_run_with_manage_py_check(mongo):
    wrong = made(DashboardTile, template="editor/_box.html")
    register(wrong)
    try:
        with pytest.raises(Exception, match=r"editor\.E009"):
            call_command("check")
    finally:
        unregister(wrong)
