"""Filters of a list that an editor saves under a name."""

import pytest
from bson import ObjectId
from django.contrib.auth.models import Permission

from nodes.errors import TooManyFilters
from nodes.selectors import saved_filters as selectors
from nodes.services import saved_filters

SAVED = "/admin/nodes/node/filters/"
LIST = "/admin/nodes/node/"


def save(ann, name, query, **more):
    return ann.client.post(SAVED, {"save": "1", "name": name, "query": query, **more})


def listed(ann, type="node"):
    return [(saved.name, saved.query) for saved in selectors.of(ann.user.pk, type)]


def test_filters_are_saved_replaced_used_and_deleted(mongo, editor):
    ann = editor()
    page = ann.client.get(LIST, {"state": "live", "q": "", "from": "x"}, follow=True)
    assert page.status_code == 404, "not a cursor"
    html = ann.client.get(LIST, {"state": "live", "tag": "a&b"}).content.decode()
    assert f'href="{SAVED}?list=node&amp;query=state%3Dlive%26tag%3Da%2526b"' in html
    assert save(ann, "Mine", "state=live&tag=a%26b&from=x&q=")["Location"] == f"{LIST}?state=live&tag=a%26b"
    assert listed(ann) == [("Mine", "state=live&tag=a%26b")]
    shown = ann.client.get(SAVED, {"query": "tag=a%26b&state=live"}).content.decode()
    assert f'<a href="{LIST}?state=live&amp;tag=a%26b" aria-current="true">Mine</a>' in shown
    save(ann, "Mine", "state=expired")
    save(ann, "<b>", "type=blog")
    assert listed(ann) == [("<b>", "type=blog"), ("Mine", "state=expired")]
    assert "<b>" not in ann.client.get(SAVED).content.decode()
    assert ann.client.post(SAVED, {"delete": "Mine", "query": "q=a"})["Location"] == f"{LIST}?q=a"
    assert listed(ann) == [("<b>", "type=blog")]


def test_each_editor_and_list_has_its_own_filters(mongo, editor):
    ann, bob = editor(), editor("bob")
    save(ann, "Mine", "state=live")
    assert save(ann, "Mine", "exif-camera=x", list="photo")["Location"] == "/admin/nodes/photo/?exif-camera=x"
    assert (listed(ann), listed(ann, "photo"), listed(bob)) == (
        [("Mine", "state=live")],
        [("Mine", "exif-camera=x")],
        [],
    )
    ann.client.post(SAVED, {"delete": "Mine", "list": "photo"})
    assert (listed(ann), listed(ann, "photo")) == ([("Mine", "state=live")], [])


@pytest.mark.parametrize(
    ("name", "query", "words"),
    [
        ("", "state=live", "This field is required."),
        ("x" * 61, "state=live", "Ensure this value has at most 60 characters"),
        ("Mine", "", "No saved filters."),
        ("Mine", f"q={'x' * 3_000}", "No saved filters."),
    ],
)
def test_missing_and_long_values_are_refused(mongo, editor, name, query, words):
    ann = editor()
    answer = save(ann, name, query)
    assert (answer.status_code, listed(ann)) == (200, [])
    assert words in answer.content.decode()


def test_number_of_saved_filters_is_limited(mongo, editor, monkeypatch):
    monkeypatch.setattr(saved_filters, "MOST", 2)
    ann = editor()
    for name in "abc":
        answer = save(ann, name, "state=live")
    assert "You can save up to 2 filters." in answer.content.decode()
    assert [name for name, _query in listed(ann)] == ["a", "b"]
    assert save(ann, "b", "state=expired").status_code == 302
    with pytest.raises(TooManyFilters):
        saved_filters.save(ann.user.pk, "photo", "a", "state=live")
    saved_filters.delete(ObjectId(), "node", "a")


def test_lists_of_photos_need_their_permission(mongo, editor):
    ann = editor("ann", is_superuser=False)
    assert ann.client.get(SAVED).status_code == 403
    ann.user.user_permissions.add(Permission.objects.get(codename="change_node", content_type__app_label="nodes"))
    assert ann.client.get(SAVED).status_code == 200
    assert ann.client.get(SAVED, {"list": "photo"}).status_code == 403
    assert ann.client.get(SAVED, {"list": "$ne"}).status_code == 404
