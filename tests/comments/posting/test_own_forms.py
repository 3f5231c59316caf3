"""Forms of projects, whose additional fields are stored with the comment."""

import json
from datetime import date
from io import StringIO

import pytest
from bson import encode
from django import forms
from django.core.management import call_command
from django.template import Context, Template
from django.test import Client
from django.urls import reverse

from marginalia import comments
from marginalia.comments import targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import InvalidComment
from marginalia.comments.operations import transfer
from marginalia.comments.posting import preparation, services
from marginalia.comments.posting.forms import CommentForm
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Order
from nodes.models import Node
from tests.api.comments.conftest import Writer, said
from tests.support.comments import site
from tests.support.comments.layouts import FORMS

ANN = CommentAuthor("Ann")
VALUES = {"rating": 4, "visited": "2026-05-01", "topics": ["food", "music"], "city": "Xylopolis"}


class ReviewForm(CommentForm):
    """A form with fields of several types."""

    rating = forms.IntegerField(label="Your rating", min_value=1, max_value=5)
    visited = forms.DateField(required=False)
    topics = forms.MultipleChoiceField(required=False, choices=[("food", "Food"), ("music", "Music")])
    city = forms.CharField(required=False, help_text="Where you live.")


@pytest.fixture
def review(rules):
    """Register the form for nodes."""
    before = targets._registered.pop(Node)
    comments.register(Node, visible=before.visible, form=ReviewForm)
    yield
    targets._registered[Node] = before


def send(client, target, text="Hello", **fields):
    return site.post(client, target, text, **{"rating": "4", **fields})


def stored(target):
    return list(selectors.iterate(target))


def test_form_shows_its_fields_and_stores_their_values(client, post_page, review):
    html = client.get(site.form_url(post_page)).content.decode()
    assert all(part in html for part in ("Your rating", 'name="visited"', "Where you live."))
    answer = send(client, post_page, visited="2026-05-01", topics=["food", "music"], city="Xylopolis", unknown="x")
    assert answer.status_code == 302
    assert dict(stored(post_page)[0].extra) == VALUES


def test_invalid_value_is_refused_with_everything_that_was_typed(client, post_page, review):
    refused = send(client, post_page, "My text", rating="9", city="Xylopolis")
    assert refused.status_code == 422
    html = refused.content.decode()
    assert "My text" in html
    assert "Xylopolis" in html
    assert "less than or equal to 5" in html
    assert stored(post_page) == []


def test_values_that_are_too_long_are_refused_with_the_text(client, post_page, review):
    refused = send(client, post_page, "My text", city="x" * 5_000)
    assert (refused.status_code, "too long" in refused.content.decode()) == (422, True)
    assert stored(post_page) == []


def test_form_sent_again_with_another_value_is_refused(client, post_page, review):
    data = site.fill(client, post_page, rating="4")
    assert [site.send(client, data).status_code for _again in range(2)] == [302, 302]
    assert site.send(client, data | {"rating": "5"}).status_code == 422
    assert [comment.extra for comment in stored(post_page)] == [{"rating": 4}]


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_values_survive_changes_and_conversions_in_every_layout(post_page, review, rules, form):
    rules(TARGETS={"nodes.node": {"LAYOUT": form[0], "ORDER": str(form[1])}})
    slug = services.post(post_page, author=ANN, source="One", token="a", extra=VALUES).comment.slug
    services.edit(post_page, slug, source="Two", rev=1, token="b")
    services.remove(post_page, slug)
    assert dict(selectors.get(post_page, slug).extra) == {}
    services.restore(post_page, slug)
    backend().convert(post_page, "documents" if form[0] != "documents" else "buckets", Order.OLDEST)
    assert dict(selectors.get(post_page, slug).extra) == VALUES


def test_held_values_are_shown_to_moderators_and_published(client, post_page, review, rules, moderator):
    rules(MODE="hold-all")
    send(client, post_page, city="Xylopolis")
    held = selectors.held()[0]
    assert dict(held.extra) == {"rating": 4, "city": "Xylopolis"}
    chief = Client()
    chief.force_login(moderator)
    html = chief.get(reverse("admin:marginalia_comments_moderation_changelist")).content.decode()
    assert "<dt>Your rating</dt>" in html
    assert "Xylopolis" in html
    chief.post(f"/comments/approve/{held.id}")
    assert dict(stored(post_page)[0].extra) == {"rating": 4, "city": "Xylopolis"}


def test_templates_show_labels_and_values(client, post_page, review):
    send(client, post_page, topics=["food", "music"])
    text = "{% load comments %}{% get_comment_list for page as list %}{% for c in list %}{{ c.extra.rating }}"
    text += "{% get_comment_extra c as items %}{% for label, value in items %} {{ label }}={{ value }}{% endfor %}{% endfor %}"
    assert Template(text).render(Context({"page": post_page})) == "4 Your rating=4 Topics=food, music"


def test_api_reads_and_posts_values(post_page, review):
    refused = Writer().post(post_page, key="x" * 16, extra={"rating": 9})
    assert refused.status_code == 422
    assert [error["field"] for error in said(refused)["errors"]] == ["body.extra.rating"]
    posted = said(Writer().post(post_page, extra=VALUES))
    assert posted["extra"] == VALUES
    listed = said(Writer().send("get", f"/nodes/{post_page.pk}/comments"))
    assert [item["extra"] for item in listed["items"]] == [VALUES]


def test_values_are_exported_imported_and_erased(client, post_page, review, mongo):
    send(client, post_page, city="Xylopolis", email="ann@example.org")
    lines = list(transfer.export())
    services.delete_discussion(post_page)
    transfer.import_(line.encode() for line in lines)
    assert list(transfer.export()) == lines
    out = StringIO()
    call_command("export_author", "--email", "ann@example.org", stdout=out, stderr=StringIO())
    assert json.loads(out.getvalue().splitlines()[0])["extra"] == {"rating": 4, "city": "Xylopolis"}
    call_command("erase_author", "--email", "ann@example.org", stdout=StringIO())
    left = [name for name in mongo.list_collection_names() for one in mongo[name].find() if b"Xylopolis" in encode(one)]
    assert left == []


HOSTILE = [
    {"a": "\x00"},
    {"a": "\ud800"},
    {"a": float("nan")},
    {"a": float("inf")},
    {"a": 2**63},
    {"a": [[[[["deep"]]]]]},
    {"a": {"$where": "1"}},
    {"a": {"b.c": 1}},
    {"": 1},
    {"a": "x" * 4_000},
    {f"k{n}": n for n in range(1_000)},
]


@pytest.mark.parametrize("extra", HOSTILE, ids=lambda extra: repr(extra)[:20])
def test_hostile_values_are_refused(post_page, extra):
    with pytest.raises(InvalidComment):
        preparation.clean_extra(extra)
    with pytest.raises(InvalidComment):
        services.post(post_page, author=ANN, source="One", token="a", extra=extra)
    assert stored(post_page) == []


def test_values_are_stored_in_types_of_json():
    assert preparation.clean_extra({"day": date(2026, 1, 2), "number": 2**62, "none": None}) == {
        "day": "2026-01-02",
        "number": 2**62,
        "none": None,
    }


@pytest.mark.parametrize("extra", [[1], 1, "x", {"a": {"$b": 1}}])
def test_hostile_values_in_a_file_are_refused(post_page, extra):
    services.post(post_page, author=ANN, source="One", token="a")
    head, row = transfer.export()
    with pytest.raises(transfer.BrokenFile):
        transfer.import_([head.encode(), json.dumps({**json.loads(row), "comment": "a" * 16, "extra": extra}).encode()])
