"""What forms send every few seconds, and what their editor finds when coming back."""

import pytest
from bson import ObjectId
from django.contrib.auth.models import Group
from django.test import Client

from nodes.admin import working_copies
from nodes.collections import WORKING_COPIES
from tests.support.nodes.build import node, stored
from tests.support.nodes.photo_build import gallery, upload

KEEP = "/admin/nodes/node/keep-typed/"
PAGE = "basic-page"


def typed(ann, node_id="", seq=1, **fields):
    """Return what the script of a form sends."""
    said = {"_copy": ObjectId(), "_seq": seq, "_user": ann.user.pk, "_node": node_id, "type": PAGE, "form": ObjectId()}
    return {**said, **fields}


def of_group(someone, name):
    someone.user.groups.add(Group.objects.get(name=name))
    return someone


def kept(mongo):
    return [dict(copy["fields"]) for copy in mongo[WORKING_COPIES].find({"fields": {"$exists": True}})]


def test_what_is_typed_is_kept_and_changes_nothing(mongo, editor):
    ann, node_id = editor(), node(title="Old")
    before = stored(node_id)
    answer = ann.client.post(KEEP, typed(ann, node_id, title="Typed", text="one\r\ntwo"))
    assert answer.status_code == 200
    assert answer.json()["at"].startswith("20")
    (said,) = kept(mongo)
    assert (said["title"], said["text"]) == ("Typed", "one\r\ntwo")
    assert stored(node_id) == before


def test_also_of_a_new_page_and_of_a_photo(mongo, editor):
    ann, photo = editor(), upload(gallery())
    assert ann.client.post(KEEP, typed(ann, title="New")).status_code == 200
    assert ann.client.post(KEEP, typed(ann, photo, type="photo", alt="A lake")).status_code == 200
    assert [said.get("title") or said.get("alt") for said in kept(mongo)] == ["New", "A lake"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"_copy": "x"}, {"_copy": ""}, {"_seq": "0"}, {"_seq": "-1"}, {"_seq": "9" * 30}, {"_seq": "$gt"}, {"_node": "x"},
        {"_node": '{"$ne": null}'}, {"_user": "x"}, {"type": ""}, {"type": "no-such"}, {"type": "$where"},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(mongo, editor, wrong):
    ann = editor()
    assert ann.client.post(KEEP, {**typed(ann, title="T"), **wrong}).status_code == 400
    assert kept(mongo) == []


def test_only_fields_of_the_form_are_kept(mongo, editor):
    ann = editor()
    sent = typed(
        ann, title="T", published_0="2026-01-01", **{"mine-title": "M", "$where": "1", "a.b": "x", "_save": "x"}
    )
    assert ann.client.post(KEEP, {**sent, "csrfmiddlewaretoken": "secret", "titles": "x"}).status_code == 200
    (said,) = kept(mongo)
    assert set(said) == {"title", "published_0", "mine-title", "type", "form"}


def test_too_much_is_refused_clearly(mongo, editor, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 20_000
    ann = editor()
    assert ann.client.post(KEEP, typed(ann, text="x" * 30_000)).status_code == 413
    assert kept(mongo) == []
    assert ann.client.post(KEEP, typed(ann, text="x" * 10_000)).status_code == 200


def test_too_often_is_refused_for_a_while(mongo, editor, monkeypatch):
    monkeypatch.setattr(working_copies, "LIMIT", 2)
    ann, bob = editor("ann"), editor("bob")
    answers = [ann.client.post(KEEP, typed(ann, title=str(n))) for n in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2]["Retry-After"] == "60"
    assert bob.client.post(KEEP, typed(bob, title="Bob's")).status_code == 200


def test_without_token_log_in_or_post_nothing_is_kept(mongo, editor):
    ann = editor()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ann.user)
    assert strict.post(KEEP, typed(ann, title="T")).status_code == 403
    assert Client().post(KEEP, typed(ann, title="T")).status_code == 302, "to the log-in page"
    assert ann.client.get(KEEP).status_code == 405
    assert kept(mongo) == []


def test_what_another_account_typed_in_this_browser_is_not_taken_for_one_s_own(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    assert bob.client.post(KEEP, typed(ann, title="Ann's")).status_code == 403
    assert kept(mongo) == []


def test_who_may_not_write_keeps_nothing(mongo, editor):
    reader, author = editor("reader", is_superuser=False), of_group(editor("author", is_superuser=False), "Authors")
    assert reader.client.post(KEEP, typed(reader, title="T")).status_code == 403
    photo = upload(gallery())
    assert author.client.post(KEEP, typed(author, photo, type="photo", alt="T")).status_code == 403
    assert author.client.post(KEEP, typed(author, type="folder", title="T")).status_code == 403
    assert kept(mongo) == []
    assert author.client.post(KEEP, typed(author, title="T")).status_code == 200


def test_a_hidden_page_answers_as_one_that_is_gone(mongo, editor):
    author, hidden = of_group(editor("author", is_superuser=False), "Authors"), node(published=None)
    answers = [author.client.post(KEEP, typed(author, of, title="T")) for of in (hidden, ObjectId())]
    assert [answer.status_code for answer in answers] == [200, 200]
