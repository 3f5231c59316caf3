"""Edits of one page by two editors, or by one in two tabs."""

import re
from random import Random

import pytest

from cms.testing.build import EDITOR, node, nonce, save, stored
from cms.testing.editors import fields
from editor import chunks
from nodes.services import editing, trash
from nodes.types import TagChange


def change(node_id):
    return f"/admin/nodes/node/{node_id}/change/"


def test_edits_of_different_paragraphs_both_survive(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text="one\n\ntwo\n\nthree")
    hers, his = ann.open(change(node_id)), bob.open(change(node_id))
    assert bob.send(change(node_id), his, text="one\n\ntwo\n\nthree of Bob").status_code == 302
    assert ann.send(change(node_id), hers, text="one of Ann\n\ntwo\n\nthree").status_code == 302
    assert stored(node_id)["detail"]["text"] == "one of Ann\n\ntwo\n\nthree of Bob"


def test_second_conflict_is_shown_while_deciding_the_first(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base", text="one\n\ntwo")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob 1")
    deciding = fields(ann.send(change(node_id), hers, title="Ann", text="one of Ann\n\ntwo").content.decode())
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob 2", text="one\n\ntwo of Bob")
    answer = ann.send(change(node_id), deciding, **{"choice-title": "mine"})
    assert answer.status_code == 409
    assert "data-unstored" in answer.content.decode()
    deciding = fields(answer.content.decode())
    assert (deciding["mine-title"], deciding["theirs-title"]) == (["Ann"], ["Bob 2"])
    assert deciding["text"] == ["one of Ann\n\ntwo of Bob"]
    assert ann.send(change(node_id), deciding, title="Both", **{"choice-title": "edit"}).status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["detail"]["text"]) == ("Both", "one of Ann\n\ntwo of Bob")


def test_conflict_keeps_other_changes_of_both_editors(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text="one\n\ntwo\n\nthree")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), text="one\n\ntwo of Bob\n\nthree of Bob")
    answer = ann.send(change(node_id), hers, text="one of Ann\n\ntwo of Ann\n\nthree")
    deciding = fields(answer.content.decode())
    assert ann.send(change(node_id), deciding, **{"text-1-choice": "theirs"}).status_code == 302
    assert stored(node_id)["detail"]["text"] == "one of Ann\n\ntwo of Bob\n\nthree of Bob"


def test_title_is_above_the_conflicts(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text="one")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), text="one of Bob")
    shown = ann.send(change(node_id), hers, text="one of Ann").content.decode()
    assert 0 < shown.index('name="title"') < shown.index('id="clash-text"') < shown.index('name="slug"')


THREE = "start\n\none\n\nmiddle\n\n\ntwo\n\nthree\n\nend\n"


def contested(ann, bob, node_id):
    """Let both editors change the paragraphs one, two and three, and return the form of Ann's conflict page."""
    hers = ann.open(change(node_id))
    his = THREE.replace("one", "one B").replace("two\n\n", "").replace("three", "three B").replace("start", "Start B")
    assert bob.send(change(node_id), bob.open(change(node_id)), text=his).status_code == 302
    text = THREE.replace("one", "one A").replace("two", "two A").replace("three", "three A").replace("end", "End A")
    answer = ann.send(change(node_id), hers, text=text)
    assert answer.status_code == 409
    return answer.content.decode()


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (("mine", "theirs", "both"), "Start B\n\none A\n\nmiddle\n\n\nthree B\n\nthree A\n\nEnd A\n"),
        (("theirs", "mine", "edit"), "Start B\n\none B\n\nmiddle\n\n\ntwo A\n\n# By hand\n\nEnd A\n"),
        (("both", "edit", "mine"), "Start B\n\none B\n\none A\n\nmiddle\n\n\n# By hand\n\nthree A\n\nEnd A\n"),
    ],
)
def test_each_paragraph_of_a_text_has_its_own_choice(mongo, editor, choices, text):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text=THREE)
    deciding = fields(contested(ann, bob, node_id))
    places = [key.removesuffix("-mine") for key in deciding if re.fullmatch(r"text-\d+-mine", key)]
    assert len(places) == 3
    for place, choice in zip(places, choices, strict=True):
        deciding[f"{place}-choice"] = choice
        if choice == "edit":
            deciding[f"{place}-text"] = "# By hand"
    assert ann.send(change(node_id), deciding).status_code == 302
    assert stored(node_id)["detail"]["text"] == text


def test_conflict_page_reports_who_removed_a_paragraph(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    html = contested(ann, bob, node(text=THREE))
    assert "There are 3 conflicts." in html
    assert html.count("Removed by bob.") == 1
    assert "Conflict 3 of 3" in html


def test_text_box_of_a_conflict_contains_the_changes_of_both(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text="The cat sat on the mat.")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), text="The dog sat on the mat.")
    deciding = fields(ann.send(change(node_id), hers, text="The cat slept on the mat.").content.decode())
    assert deciding["text-0-text"] == ["The dog slept on the mat."]
    assert ann.send(change(node_id), deciding, **{"text-0-choice": "edit"}).status_code == 302
    assert stored(node_id)["detail"]["text"] == "The dog slept on the mat."


def test_undecided_paragraph_keeps_the_other_decisions(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text=THREE)
    deciding = fields(contested(ann, bob, node_id))
    answer = ann.send(
        change(node_id), deciding, **{"text-1-choice": "both", "text-4-choice": "edit", "text-4-text": "typed"}
    )
    assert answer.status_code == 200
    html = answer.content.decode()
    again = fields(html)
    assert (again["text-1-choice"], again["text-4-choice"], again["text-4-text"]) == (["both"], ["edit"], ["typed"])
    assert html.count("Choose which version to keep.") == 1
    assert "Removed by bob." in html
    assert ann.send(change(node_id), again, **{"text-3-choice": "mine"}).status_code == 302
    assert stored(node_id)["detail"]["text"] == "Start B\n\none B\n\none A\n\nmiddle\n\n\ntwo A\n\ntyped\n\nEnd A\n"


def test_typed_paragraph_without_its_choice_is_not_lost(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text=THREE)
    deciding = fields(contested(ann, bob, node_id))
    choices = {"text-1-choice": "mine", "text-3-choice": "mine", "text-4-choice": "theirs"}
    answer = ann.send(change(node_id), deciding, **choices, **{"text-4-text": "typed"})
    assert answer.status_code == 200
    assert "You edited this text." in answer.content.decode()
    assert ann.fields(answer)["text-4-text"] == ["typed"]


def test_decisions_are_kept_if_a_third_editor_saves_meanwhile(mongo, editor):
    ann, bob, eve = editor("ann"), editor("bob"), editor("eve")
    node_id = node(text=THREE)
    deciding = fields(contested(ann, bob, node_id))
    text = stored(node_id)["detail"]["text"].replace("three B", "three E").replace("middle", "middle E")
    assert eve.send(change(node_id), eve.open(change(node_id)), text=text).status_code == 302
    choices = {"text-1-choice": "both", "text-3-choice": "mine", "text-4-choice": "mine"}
    answer = ann.send(change(node_id), deciding, **choices)
    assert answer.status_code == 409
    html = answer.content.decode()
    assert "There is one conflict." in html
    assert "eve changed this page" in html
    again = ann.fields(answer)
    assert (again["text-1-mine"], again["text-1-theirs"]) == (["three A"], ["three E"])
    assert ann.send(change(node_id), again, **{"text-1-choice": "theirs"}).status_code == 302
    assert stored(node_id)["detail"]["text"] == "Start B\n\none B\n\none A\n\nmiddle E\n\n\ntwo A\n\nthree E\n\nEnd A\n"


def test_decisions_and_names_survive_in_a_working_copy(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text=THREE)
    deciding = {**fields(contested(ann, bob, node_id)), "text-1-choice": "theirs", "text-4-text": "typed"}
    copy = deciding["_copy"][0]
    kept = ann.client.post("/admin/nodes/node/keep-typed/", {**deciding, "_seq": 1})
    assert kept.status_code == 200
    back = ann.client.post(change(node_id), {"_put_back": copy})
    html = back.content.decode()
    assert "bob changed this page while you were editing it." in html
    again = fields(html)
    assert (again["text-1-choice"], again["text-4-text"]) == (["theirs"], ["typed"])
    shown = ann.client.get(f"/admin/nodes/node/typed/{copy}/").content.decode()
    assert "typed" in shown


def test_conflict_of_a_page_trashed_meanwhile_keeps_all_text(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text=THREE)
    deciding = fields(contested(ann, bob, node_id))
    trash.trash(EDITOR, node_id, nonce(node_id))
    choices = {"text-1-choice": "both", "text-3-choice": "mine", "text-4-choice": "mine"}
    answer = ann.send(change(node_id), deciding, **choices)
    assert answer.status_code == 409
    assert ann.fields(answer)["text"] == ["Start B\n\none B\n\none A\n\nmiddle\n\n\ntwo A\n\nthree A\n\nEnd A\n"]


@pytest.mark.slow
def test_no_word_is_lost_in_many_rounds_of_two_editors(mongo, editor):
    """Both change random paragraphs in each round, and Ann keeps what both wrote, or writes it herself."""
    ann, bob = editor("ann"), editor("bob")
    chance = Random(1)
    node_id = node(text="\n\n".join(f"paragraph {number} of the text" for number in range(9)))
    typed = set()
    conflicts = 0
    for turn in range(40):
        forms = {who: who.open(change(node_id)) for who in (bob, ann)}
        for who, name in ((bob, "bob"), (ann, "ann")):
            paragraphs = forms[who]["text"][0].split("\n\n")
            for place in chance.sample(range(len(paragraphs)), 3):
                word = f"{name}{turn}in{place}"
                typed.add(word)
                paragraphs[place] += f" {word}"
            answer = who.send(change(node_id), forms[who], text="\n\n".join(paragraphs))
            while answer.status_code == 409:
                deciding = who.fields(answer)
                places = [key.removesuffix("-mine") for key in deciding if key.endswith("-mine")]
                conflicts += len(places)
                choices = {f"{place}-choice": chance.choice(["both", "edit"]) for place in places}
                answer = who.send(change(node_id), deciding, **choices)
            assert answer.status_code == 302
    assert typed <= set(stored(node_id)["detail"]["text"].split())
    assert conflicts > 20


def test_conflicts_beyond_the_limit_are_decided_together(mongo, editor, monkeypatch):
    monkeypatch.setattr(chunks, "MOST", 2)
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text=THREE)
    deciding = fields(contested(ann, bob, node_id))
    assert [key for key in deciding if key.endswith("-mine")] == ["text-1-mine", "text-3-mine"]
    assert ann.send(change(node_id), deciding, **{"text-1-choice": "mine", "text-3-choice": "mine"}).status_code == 302
    assert stored(node_id)["detail"]["text"] == "Start B\n\none A\n\nmiddle\n\n\ntwo A\n\nthree A\n\nEnd A\n"


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    "forged",
    [
        {"text-TOTAL_FORMS": "x"},
        {"text-TOTAL_FORMS": "9" * 30},
        {"text-TOTAL_FORMS": "-1"},
        {"text-INITIAL_FORMS": ""},
        {"text-1-choice": "$where"},
        {"text-4-text": "\x00"},
    ],
)
def test_forged_conflict_page_changes_nothing(mongo, editor, forged):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(text=THREE)
    deciding = fields(contested(ann, bob, node_id))
    before = stored(node_id)
    choices = {"text-1-choice": "mine", "text-3-choice": "mine", "text-4-choice": "mine"}
    assert ann.send(change(node_id), deciding, **{**choices, **forged}).status_code == 200
    assert stored(node_id) == before


def test_undecided_conflict_still_names_the_other_editor(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob")
    deciding = fields(ann.send(change(node_id), hers, title="Ann").content.decode())
    again = ann.send(change(node_id), deciding).content.decode()
    assert "bob changed this page while you were editing it." in again
    assert "Use theirs (bob)" in again


def test_undecided_conflict_of_two_windows_still_names_the_other(mongo, editor):
    ann = editor("ann")
    node_id = node(title="Base")
    first, second = ann.open(change(node_id)), ann.open(change(node_id))
    ann.send(change(node_id), second, title="Second")
    deciding = fields(ann.send(change(node_id), first, title="First").content.decode())
    again = ann.send(change(node_id), deciding).content.decode()
    assert "Use the text from the other window" in again


def test_text_typed_in_the_conflict_box_is_kept(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob")
    deciding = fields(ann.send(change(node_id), hers, title="Ann").content.decode())
    answer = ann.send(change(node_id), deciding, title="Something new", **{"choice-title": "theirs"})
    assert answer.status_code == 200
    assert fields(answer.content.decode())["title"] == ["Something new"]
    assert stored(node_id)["title"] == "Bob"


def test_own_second_tab_with_equal_text_causes_no_conflict(mongo, editor):
    ann, node_id = editor(), node(title="Old")
    first, second = ann.open(change(node_id)), ann.open(change(node_id))
    assert ann.send(change(node_id), first, title="New", tags="a").status_code == 302
    after = nonce(node_id)
    assert ann.send(change(node_id), second, title="New", tags="a").status_code == 302
    assert nonce(node_id) == after


def test_form_saved_again_after_back_causes_no_conflict(mongo, editor):
    ann, node_id = editor(), node(text="one")
    form = ann.open(change(node_id))
    for text in ("one two", "one two three"):
        assert ann.send(change(node_id), form, text=text).status_code == 302
    assert stored(node_id)["detail"]["text"] == "one two three"


def test_tag_removed_again_after_back_is_removed(mongo, editor):
    ann, node_id = editor(), node(tags=("a",))
    form = ann.open(change(node_id))
    for tags in ("a, x", "a"):
        assert ann.send(change(node_id), form, tags=tags).status_code == 302
    assert stored(node_id)["tags"] == ["a"]


def test_conflict_page_shows_a_tag_only_once_if_its_capitals_differ(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base")
    hers = ann.open(change(node_id))
    bob.send(change(node_id), bob.open(change(node_id)), title="Bob", tags="News")
    answer = ann.send(change(node_id), hers, title="Ann", tags="news")
    assert fields(answer.content.decode())["tags"] == ["News"]


def test_restoring_a_version_keeps_tags_added_meanwhile(mongo, editor):
    """Tags are changed relative to those shown, so tags added before the button is pressed stay."""
    ann, node_id = editor(), node(text="old", tags=("a", "c"))
    first = nonce(node_id)
    editing.save(EDITOR, node_id, first, {"detail.text": "new"}, TagChange.between("ac", "a"))
    address = f"/admin/nodes/node/{node_id}/history/{first}/"
    form = fields(ann.client.get(address).content.decode(), "confirm_form")
    editing.change_tags(node_id, TagChange(added=frozenset("b")))
    ann.client.post(address, form)
    assert stored(node_id)["detail"]["text"] == "old"
    assert sorted(stored(node_id)["tags"]) == ["a", "b", "c"]


def test_conflict_without_a_known_base_shows_every_difference(mongo, editor):
    """Without the merge base, it is not known who changed what."""
    ann, node_id = editor(), node(title="Base", text="base")
    form = ann.open(change(node_id))
    mongo["cms.revisions"].delete_many({})
    mongo["cms.nodes"].update_one({}, {"$set": {"metadata.nonce": node_id, "metadata.title": "Theirs"}})
    answer = ann.send(change(node_id), form, text="mine")
    deciding = fields(answer.content.decode())
    assert sorted(deciding["conflict"]) == ["text", "title"]
    assert stored(node_id)["title"] == "Theirs"
    assert (deciding["text-0-mine"], deciding["text-0-theirs"]) == (["mine"], ["base"])
    assert "Removed by" not in answer.content.decode()


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("page", ["publish", "history"])
def test_decided_conflict_is_saved_from_any_page(mongo, editor, page):
    """Publishing a draft and restoring a version have their own pages, which cannot process the form of the page."""
    ann, node_id = editor(), node(title="First", text="text")
    first = nonce(node_id)
    save(node_id, first, title="Second")
    if page == "publish":
        address = f"/admin/nodes/node/{node_id}/publish/"
        ann.send(change(node_id), ann.open(change(node_id)), "_draft", title="Drafted")
    else:
        address = f"/admin/nodes/node/{node_id}/history/{first}/"
    form = fields(ann.client.get(address).content.decode(), "confirm_form")
    save(node_id, nonce(node_id), title="Another's")
    met = ann.client.post(address, form)
    assert met.status_code == 409
    html = met.content.decode()
    to = re.search(r'id="node_form"[^>]* action="([^"]+)"', html, re.S)
    deciding = fields(html)
    sent = ann.send(to[1] if to else address, deciding, title="Decided", **{"choice-title": "edit"})
    assert sent.status_code == 302
    assert stored(node_id)["title"] == "Decided"


def test_draft_conflict_is_decided_on_publishing(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    node_id = node(title="Base", text="text")
    ann.send(change(node_id), ann.open(change(node_id)), "_draft", title="Drafted", tags="of-draft")
    assert stored(node_id)["title"] == "Base"
    bob.send(change(node_id), bob.open(f"{change(node_id)}?version=live"), title="Bob's", summary="Bob's")
    draft = mongo["cms.nodes"].find_one()["draft"]["nonce"]
    answer = ann.client.post(f"/admin/nodes/node/{node_id}/publish/", {"draft": str(draft)})
    assert answer.status_code == 409
    deciding = fields(answer.content.decode())
    assert deciding["tags"] == ["of-draft"]
    assert ann.send(change(node_id), deciding, "_publish", **{"choice-title": "mine"}).status_code == 302
    metadata = stored(node_id)
    assert (metadata["title"], metadata["summary"], metadata["tags"]) == ("Drafted", "Bob's", ["of-draft"])
    assert "draft" not in mongo["cms.nodes"].find_one()


def test_draft_form_saved_twice_causes_no_conflict(mongo, editor):
    ann, node_id = editor(), node(title="Live")
    form = ann.open(change(node_id))
    for text in ("one", "one two", "one two"):
        assert ann.send(change(node_id), form, "_draft", text=text).status_code == 302
    assert mongo["cms.nodes"].find_one()["draft"]["metadata"]["detail"]["text"] == "one two"
