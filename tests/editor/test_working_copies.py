"""Working copies: typed text that forms send every few seconds, and that is offered when its editor comes back."""

import re

import pytest
from bson import ObjectId
from django.contrib.auth.models import Group
from django.test import Client

from cms.testing.build import EDITOR, node, nonce, stored
from editor import working_copies
from nodes.collections import WORKING_COPIES
from nodes.services import trash
from tests.support.nodes.photo_build import gallery, upload

KEEP = "/admin/nodes/node/keep-typed/"
PAGE = "basic-page"


def typed(ann, node_id="", seq=1, **fields):
    """Return the data that the script of a form sends."""
    said = {"_copy": ObjectId(), "_seq": seq, "_user": ann.user.pk, "_node": node_id, "type": PAGE, "form": ObjectId()}
    return {**said, **fields}


def of_group(someone, name):
    someone.user.groups.add(Group.objects.get(name=name))
    return someone


def kept(mongo):
    return [dict(copy["fields"]) for copy in mongo[WORKING_COPIES].find({"fields": {"$exists": True}})]


def test_typed_text_is_stored_without_changing_the_page(mongo, editor):
    ann, node_id = editor(), node(title="Old")
    before = stored(node_id)
    answer = ann.client.post(KEEP, typed(ann, node_id, title="Typed", text="one\r\ntwo"))
    assert answer.status_code == 200
    assert re.fullmatch(r"Backed up at \d+:\d\d [AP]M, but not saved", answer.json()["state"])
    (said,) = kept(mongo)
    assert (said["title"], said["text"]) == ("Typed", "one\r\ntwo")
    assert stored(node_id) == before


def test_new_pages_and_photos_have_working_copies(mongo, editor):
    ann, photo = editor(), upload(gallery())
    assert ann.client.post(KEEP, typed(ann, title="New")).status_code == 200
    assert ann.client.post(KEEP, typed(ann, photo, type="photo", alt="A lake")).status_code == 200
    assert [said.get("title") or said.get("alt") for said in kept(mongo)] == ["New", "A lake"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"_copy": "x"},
        {"_copy": ""},
        {"_seq": "0"},
        {"_seq": "-1"},
        {"_seq": "9" * 30},
        {"_seq": "$gt"},
        {"_node": "x"},
        {"_node": '{"$ne": null}'},
        {"_user": "x"},
        {"type": ""},
        {"type": "no-such"},
        {"type": "$where"},
    ],
)
def test_invalid_request_is_refused(mongo, editor, wrong):
    ann = editor()
    assert ann.client.post(KEEP, {**typed(ann, title="T"), **wrong}).status_code == 400
    assert kept(mongo) == []


def test_only_fields_of_the_form_are_stored(mongo, editor):
    ann = editor()
    sent = typed(
        ann, title="T", published_0="2026-01-01", **{"mine-title": "M", "$where": "1", "a.b": "x", "_save": "x"}
    )
    assert ann.client.post(KEEP, {**sent, "csrfmiddlewaretoken": "secret", "titles": "x"}).status_code == 200
    (said,) = kept(mongo)
    assert set(said) == {"title", "published_0", "mine-title", "type", "form"}


def test_oversized_text_is_refused_with_a_reason(mongo, editor, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 20_000
    ann = editor()
    assert ann.client.post(KEEP, typed(ann, text="x" * 30_000)).status_code == 413
    assert kept(mongo) == []
    assert ann.client.post(KEEP, typed(ann, text="x" * 10_000)).status_code == 200


def test_frequent_requests_are_refused_for_a_while(mongo, editor, monkeypatch):
    monkeypatch.setattr(working_copies, "LIMIT", 2)
    ann, bob = editor("ann"), editor("bob")
    answers = [ann.client.post(KEEP, typed(ann, title=str(n))) for n in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2]["Retry-After"] == "60"
    assert bob.client.post(KEEP, typed(bob, title="Bob's")).status_code == 200


def test_request_without_token_login_or_post_stores_nothing(mongo, editor):
    ann = editor()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ann.user)
    assert strict.post(KEEP, typed(ann, title="T")).status_code == 403
    assert Client().post(KEEP, typed(ann, title="T")).status_code == 302, "to the log-in page"
    assert ann.client.get(KEEP).status_code == 405
    assert kept(mongo) == []


def test_text_of_another_account_is_refused(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    assert bob.client.post(KEEP, typed(ann, title="Ann's")).status_code == 403
    assert kept(mongo) == []


def test_account_without_permission_stores_nothing(mongo, editor):
    reader, author = editor("reader", is_superuser=False), of_group(editor("author", is_superuser=False), "Authors")
    assert reader.client.post(KEEP, typed(reader, title="T")).status_code == 403
    photo = upload(gallery())
    assert author.client.post(KEEP, typed(author, photo, type="photo", alt="T")).status_code == 403
    assert author.client.post(KEEP, typed(author, type="folder", title="T")).status_code == 403
    assert kept(mongo) == []
    assert author.client.post(KEEP, typed(author, title="T")).status_code == 200


def test_hidden_page_responds_like_a_deleted_one(mongo, editor):
    author, hidden = of_group(editor("author", is_superuser=False), "Authors"), node(published=None)
    answers = [author.client.post(KEEP, typed(author, of, title="T")) for of in (hidden, ObjectId())]
    assert [answer.status_code for answer in answers] == [200, 200]


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


ADD = "/admin/nodes/node/add/?type=basic-page"


def type_into(ann, form, seq=1, **fields):
    """Send the data that the script of an opened form sends after typing, and return the form."""
    form = {**form, **fields, "_seq": str(seq)}
    assert ann.client.post(KEEP, form).status_code == 200
    return form


def page(ann, address):
    return ann.client.get(address).content.decode()


def copy_id(mongo):
    (copy,) = mongo[WORKING_COPIES].find({"fields": {"$exists": True}})
    return copy["_id"]["copy"]


def go_on(ann, address, mongo):
    answer = ann.client.post(address, {"_put_back": str(copy_id(mongo))})
    assert answer.status_code == 200
    return answer


def test_unsaved_text_is_offered_and_continued(mongo, editor):
    ann, node_id = editor(), node(title="Old", text="one\n\ntwo")
    type_into(ann, ann.open(change(node_id)), text="one of Ann\n\ntwo", tags="x")
    offered = page(ann, change(node_id))
    assert "You have unsaved changes" in offered
    assert '<div id="unsaved-work" role="status">' in offered
    shown = page(ann, f"/admin/nodes/node/typed/{copy_id(mongo)}/")
    assert "<ins> of Ann</ins>" in shown
    assert "Old" not in shown.partition("difference")[2], "the title was left alone"
    form = ann.fields(go_on(ann, change(node_id), mongo))
    assert form["text"] == ["one of Ann\n\ntwo"]
    assert stored(node_id)["detail"]["text"] == "one\n\ntwo", "shown, and not saved"
    assert ann.send(change(node_id), form).status_code == 302
    assert (stored(node_id)["detail"]["text"], stored(node_id)["tags"]) == ("one of Ann\n\ntwo", ["x"])
    assert "You have unsaved changes" not in page(ann, change(node_id))
    assert kept(mongo) == []


def test_unsaved_text_of_a_new_page_is_shown(mongo, editor):
    ann = editor()
    type_into(ann, ann.open(ADD), title="Begun", text="One & two.\n\nThree.", tags="x, y")
    shown = page(ann, f"/admin/nodes/node/typed/{copy_id(mongo)}/").partition('id="content-main"')[2]
    assert re.findall(r"<h2>(.*?)</h2>", shown) == ["Title", "Text", "Tags"]
    assert "<p>One &amp; two.</p>\n\n<p>Three.</p>" in shown
    assert 'class="difference"' not in shown
    assert "Not saved" in page(ann, "/admin/")


def test_continued_text_merges_from_its_own_base(mongo, editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node(title="Old", text="one\n\ntwo")
    type_into(ann, ann.open(change(node_id)), text="one of Ann\n\ntwo")
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob's", text="one\n\ntwo of Bob")
    shown = page(ann, f"/admin/nodes/node/typed/{copy_id(mongo)}/")
    assert "Bob" not in shown.partition("difference")[2].replace("two of Bob", ""), "what Bob changed is as he said"
    assert ann.send(change(node_id), ann.fields(go_on(ann, change(node_id), mongo))).status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["detail"]["text"]) == ("Bob's", "one of Ann\n\ntwo of Bob")


def test_own_working_copy_causes_no_conflict(mongo, editor):
    """Saved, edited again after Back, and continued later."""
    ann, node_id = editor(), node(text="old")
    form = ann.open(change(node_id))
    ann.send(change(node_id), form, text="saved", _seq="2")
    type_into(ann, form, seq=3, text="saved and more")
    assert ann.send(change(node_id), ann.fields(go_on(ann, change(node_id), mongo))).status_code == 302
    assert stored(node_id)["detail"]["text"] == "saved and more"


def test_unsaved_new_page_is_offered_on_the_add_page(mongo, editor):
    ann = editor()
    type_into(ann, ann.open(ADD), text="no title yet")
    offered = page(ann, ADD)
    assert "You have an unsaved page from " in offered
    assert ": “Untitled”." in offered
    assert "You have an unsaved page" not in page(ann, ADD.replace("basic-page", "folder"))
    shown = go_on(ann, ADD, mongo)
    assert b"This field is required" not in shown.content
    assert ann.send(ADD, ann.fields(shown), title="Titled").status_code == 302
    assert mongo["cms.nodes"].find_one()["metadata"]["detail"]["text"] == "no title yet"
    assert "You have an unsaved page" not in page(ann, ADD)
    type_into(ann, ann.open(ADD), title="On <lakes>")
    assert ": “On &lt;lakes&gt;”." in page(ann, ADD)


@pytest.mark.slow
def test_several_unsaved_pages_are_offered_in_one_list(mongo, editor):
    ann, number = editor(), 7
    for title in range(number):
        type_into(ann, ann.open(ADD), title=f"Page {title}")
    offered = page(ann, ADD)
    assert "Unsaved pages:" not in page(ann, ADD.replace("basic-page", "folder"))
    assert re.search(r"Unsaved pages:\s*<span data-count>7</span>", offered)
    assert [offered.count(words) for words in ("You have an unsaved page", "Continue editing", ">Discard<")] == [7] * 3


def test_unsaved_photo_is_offered(mongo, editor):
    ann, photo = editor(), upload(gallery())
    address = f"/admin/nodes/photo/{photo}/change/"
    type_into(ann, ann.open(address), alt="A lake at dawn")
    assert "You have unsaved changes" in page(ann, address)
    assert "<ins> at dawn</ins>" in page(ann, f"/admin/nodes/node/typed/{copy_id(mongo)}/")
    assert ann.send(address, ann.fields(go_on(ann, address, mongo))).status_code == 302
    assert mongo["cms.assets.files"].find_one({"_id": photo})["metadata"]["detail"]["alt"] == "A lake at dawn"
    assert kept(mongo) == []


def test_unsaved_draft_is_offered_as_a_draft(mongo, editor):
    ann, node_id = editor(), node(text="live")
    ann.send(change(node_id), ann.open(change(node_id)), button="_draft", text="draft")
    type_into(ann, ann.open(change(node_id)), text="draft and more")
    shown = page(ann, f"/admin/nodes/node/typed/{copy_id(mongo)}/")
    assert "<ins> and more</ins>" in shown
    assert shown.count("difference-of") == 1
    ann.send(change(node_id), ann.fields(go_on(ann, change(node_id), mongo)), button="_draft")
    assert mongo["cms.nodes"].find_one()["draft"]["metadata"]["detail"]["text"] == "draft and more"
    assert stored(node_id)["detail"]["text"] == "live"


def test_saved_text_is_not_offered(mongo, editor):
    """As after a crash between the save and the deletion of the copy, and after typing back to the stored text."""
    ann, node_id = editor(), node(text="old")
    type_into(ann, ann.open(change(node_id)), text="typed")
    ann.send(change(node_id), ann.open(change(node_id)), text="typed")
    assert len(kept(mongo)) == 1
    assert "You have unsaved changes" not in page(ann, change(node_id))
    new = ann.open(ADD)
    type_into(ann, new, title="New")
    ann.send(ADD, {**new, "_copy": "", "title": "New"})
    assert "You have an unsaved page" not in page(ann, ADD)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("typed", ["one\n\ntwo\n\n\n", "\n\none\n\ntwo", "one\n\n\n\n\ntwo", "one\n\ntwo\n"])
def test_blank_lines_are_no_unsaved_text(mongo, editor, typed):
    ann, node_id = editor(), node(text="one\n\ntwo")
    type_into(ann, ann.open(change(node_id)), text=typed)
    type_into(ann, ann.open(ADD), text="\n\n\n")
    assert len(kept(mongo)) == 2
    assert "You have unsaved changes" not in page(ann, change(node_id))
    assert "You have an unsaved page" not in page(ann, ADD)
    assert "Not saved" not in page(ann, "/admin/")


def test_lines_of_code_are_unsaved_text(mongo, editor):
    ann, node_id = editor(), node(text="one\n\ntwo")
    type_into(ann, ann.open(change(node_id)), text="one\n\n    two")
    assert "You have unsaved changes" in page(ann, change(node_id))
    assert "Not saved" in page(ann, "/admin/")


def test_save_deletes_its_copy_and_ignores_late_ones(mongo, editor):
    ann, node_id = editor(), node(text="old")
    form = type_into(ann, ann.open(change(node_id)), seq=5, text="half")
    ann.send(change(node_id), form, text="whole", _seq="7")
    assert kept(mongo) == []
    assert ann.client.post(KEEP, {**form, "_seq": "6"}).status_code == 200
    assert kept(mongo) == []
    assert "You have unsaved changes" not in page(ann, change(node_id))


def test_refused_save_keeps_the_copy(mongo, editor):
    ann, node_id = editor(), node(text="old")
    form = type_into(ann, ann.open(change(node_id)), seq=5, text="typed")
    refused = ann.send(change(node_id), form, title="", _seq="7")
    assert refused.status_code == 200
    assert ann.fields(refused)["_copy"] == form["_copy"]
    assert [said["text"] for said in kept(mongo)] == ["typed"]


def test_discarding_deletes_only_the_shown_copy(mongo, editor):
    ann, node_id = editor(), node(text="old")
    form = type_into(ann, ann.open(change(node_id)), seq=5, text="typed")
    discard = f"/admin/nodes/node/typed/{copy_id(mongo)}/discard/"
    assert ann.client.get(discard).status_code == 405
    type_into(ann, form, seq=6, text="typed on in its tab")
    assert ann.client.post(discard, {"_seq": "5"}).status_code == 302
    assert len(kept(mongo)) == 1
    for wrong in ("", "x", "-1", "٣", "9" * 40):
        ann.client.post(discard, {"_seq": wrong})
        assert len(kept(mongo)) == 1
    answer = ann.client.post(discard, {"_seq": "6"})
    assert (answer.status_code, answer["Location"]) == (302, change(node_id))
    assert kept(mongo) == []
    assert stored(node_id)["detail"]["text"] == "old"


def test_continuing_in_a_second_tab_moves_the_copy_there(mongo, editor):
    ann, node_id = editor(), node(text="old")
    first = type_into(ann, ann.open(change(node_id)), seq=5, text="typed")
    second = ann.fields(go_on(ann, change(node_id), mongo))
    assert second["_copy"] != first["_copy"]
    type_into(ann, second, seq=1, text="typed on")
    assert [said["text"] for said in kept(mongo)] == ["typed on"]
    type_into(ann, first, seq=6, text="and in the first tab too")
    assert sorted(said["text"] for said in kept(mongo)) == ["and in the first tab too", "typed on"]


def test_copies_of_others_are_not_offered(mongo, editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node(text="old")
    type_into(ann, ann.open(change(node_id)), text="secret")
    assert "You have unsaved changes" not in page(bob, change(node_id))
    typed_at = f"/admin/nodes/node/typed/{copy_id(mongo)}/"
    assert bob.client.get(typed_at).status_code == 404
    assert bob.client.post(f"{typed_at}discard/", {"_seq": "1"}).status_code == 404
    assert bob.client.post(change(node_id), {"_put_back": str(copy_id(mongo))}).status_code == 404
    assert len(kept(mongo)) == 1


def test_copy_of_one_page_is_not_put_into_another(mongo, editor):
    ann, node_id, other = editor(), node(text="old"), node(slug="other")
    type_into(ann, ann.open(change(node_id)), text="typed")
    for address in (change(other), ADD):
        assert ann.client.post(address, {"_put_back": str(copy_id(mongo))}).status_code == 404
    assert ann.client.post(change(node_id), {"_put_back": "$ne"}).status_code == 404


def test_copy_of_a_trashed_page_becomes_a_new_page(mongo, editor):
    ann, node_id = editor(), node(title="Old", text="old")
    type_into(ann, ann.open(change(node_id)), text="typed")
    trash.trash(EDITOR, node_id, nonce(node_id))
    answer = ann.client.post(change(node_id), {"_put_back": str(copy_id(mongo))})
    assert answer.status_code == 409
    assert ann.send(ADD, ann.fields(answer)).status_code == 302
    assert mongo["cms.nodes"].find_one()["metadata"]["detail"]["text"] == "typed"


def test_text_stored_by_a_browser_is_offered_at_once(mongo, editor):
    ann, node_id = editor(), node(text="old")
    form = ann.open(change(node_id))
    answer = ann.client.post(KEEP, {**form, "text": "typed offline <b>", "_seq": "1", "_offer": "1"})
    assert "You have unsaved changes" in answer.json()["html"]
    assert "html" not in ann.client.post(KEEP, {**form, "_seq": "2"}).json()


def test_choices_of_a_conflict_page_are_stored(mongo, editor):
    ann, bob, node_id = editor("ann"), editor("bob"), node(title="Old")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob's")
    deciding = ann.fields(ann.send(change(node_id), hers, title="Ann's"))
    type_into(ann, deciding, **{"choice-title": "mine"})
    shown = go_on(ann, change(node_id), mongo)
    assert ann.send(change(node_id), ann.fields(shown)).status_code == 302
    assert stored(node_id)["title"] == "Ann's"
