"""Differences of two versions as editors see them: matching parts side by side, each field with its label."""

import re
from datetime import UTC, datetime

import pytest
from bson import ObjectId
from django.contrib.auth.models import AnonymousUser, Permission

from cms.testing.build import EDITOR, node, nonce, save, stored
from editor import differences
from editor.differences import Fold
from nodes.selectors import history
from nodes.services import drafts
from nodes.types import TagChange
from tests.support.nodes import pictures
from tests.support.nodes.content import Cookbook, Recipe, registered
from tests.support.nodes.photo_build import gallery, upload

SAME = [f"Paragraph {number}." for number in range(9)]


def shown(html):
    """Return the changes that a page of differences shows for each field: {"Title": [("changed", "old", "new"), …]}."""
    html = re.sub(r'<span class="(visually-hidden|line-kind)">.*?</span>', "", html, flags=re.S)
    found = {}
    for label, table in re.findall(r'difference-of"><h2>(.*?)</h2>(.*?)</section>', html, re.S):
        rows = re.findall(r'<tr class="(\w+)">(.*?)</tr>', table, re.S)
        found[label] = [
            (
                kind,
                *(
                    re.sub(r"<(?!/?(ins|del)\b)[^>]*>", "", cell).strip()
                    for cell in re.findall(r"<td.*?</td>", row, re.S)
                ),
            )
            for kind, row in rows
        ]
    return found


@pytest.fixture
def compare(editor, client):
    """Return a function that returns the page with the differences of a node since a nonce."""
    ann = editor("comparer")

    def page(node_id, old, by=ann):
        answer = by.client.get(f"/admin/nodes/node/{node_id}/compare/", {"old": str(old), "new": str(nonce(node_id))})
        assert answer.status_code == 200
        return answer.content.decode()

    return page


@pytest.fixture
def stew(mongo):
    with registered(Recipe, Cookbook):
        said = {"detail.course": "main", "detail.ingredients": ["beans", "salt", "rice"], "detail.since": "2024-05-01"}
        said["detail.steps"] = [{"what": "Soak", "minutes": 60}, {"what": "Cook", "minutes": 90}]
        yield node("recipe", "stew", parent=node("cookbook", "cooking"), tags=("hot", "old"), **said)


def test_inserted_paragraph_leaves_its_neighbours_unmarked(mongo, compare):
    made = node(text="\n\n".join(SAME))
    old = nonce(made)
    save(made, old, detail__text="\n\n".join([*SAME[:5], "A new one.", *SAME[5:8], "Paragraph eight."]))
    html = compare(made, old)
    assert shown(html)["Text"] == [
        ("fold", "4 paragraphs unchangedParagraph 0.Paragraph 1.Paragraph 2.Paragraph 3."),
        ("same", "Paragraph 4.", "Paragraph 4."),
        ("added", "", "<ins>A new one.</ins>"),
        ("same", "Paragraph 5.", "Paragraph 5."),
        ("same", "Paragraph 6.", "Paragraph 6."),
        ("same", "Paragraph 7.", "Paragraph 7."),
        ("changed", "Paragraph <del>8</del>.", "Paragraph <ins>eight</ins>."),
    ]
    assert html.count("<details>") == 2, "once for readers, and once in the source"
    assert '<span class="line-kind">Added</span>' in html


def test_moved_paragraph_is_shown_as_moved(mongo, compare):
    made = node(text="\n\n".join(SAME[:4]))
    old = nonce(made)
    save(made, old, detail__text="\n\n".join([*SAME[1:4], SAME[0]]))
    html = compare(made, old)
    assert [row[0] for row in shown(html)["Text"]] == ["left", "same", "same", "same", "came"]
    assert ("Moved away" in html, "Moved here" in html) == (True, True)


def test_blank_line_changes_are_described(mongo, compare):
    made = node(text="one\n\ntwo")
    old = nonce(made)
    save(made, old, detail__text="one\n\n\n\ntwo")
    html = compare(made, old)
    assert ("Only blank lines differ." in html, "Readers see no difference." in html) == (True, True)
    assert "<ins>" not in html


def test_fields_are_described_with_their_labels(stew, compare):
    old, before = nonce(stew), stored(stew)["detail"]["steps"]
    steps = [{**before[1], "what": "Simmer"}, {"what": "Eat", "minutes": 5}]
    changed = {"course": "starter", "is_vegan": True, "ingredients": ["beans", "pepper", "rice", "oil"], "steps": steps}
    save(
        stew,
        old,
        tags=TagChange(frozenset({"new"}), frozenset({"old"})),
        title="Bean stew",
        **{f"detail__{name}": value for name, value in changed.items()},
        detail__since="2025-05-01",
        published=datetime(2021, 6, 1, 9, tzinfo=UTC),
        parent_id=node("cookbook", "other", title="Other cooking"),
    )
    said = shown(compare(stew, old))
    assert said["Title"] == [("changed", "<del>Stew</del>", "<ins>Bean stew</ins>")]
    assert said["Course"] == [("changed", "<del>Main course</del>", "<ins>Starter</ins>")]
    assert said["Is vegan"] == [("changed", "<del>No</del>", "<ins>Yes</ins>")]
    assert said["Ingredients"] == [
        ("same", "beans", "beans"),
        ("changed", "<del>salt</del>", "<ins>pepper</ins>"),
        ("same", "rice", "rice"),
        ("added", "", "<ins>oil</ins>"),
    ]
    assert said["Steps"] == [
        ("removed", "What: <del>Soak</del>\nMinutes: <del>60</del>", ""),
        ("changed", "What: <del>Cook</del>\nMinutes: 90", "What: <ins>Simmer</ins>\nMinutes: 90"),
        ("added", "", "What: <ins>Eat</ins>\nMinutes: <ins>5</ins>"),
    ]
    assert said["Since"] == [("changed", "<del>May 1, 2024</del>", "<ins>May 1, 2025</ins>")]
    assert said["Published"] == [
        ("changed", "<del>January 1, 2020, 12:00 AM</del>", "<ins>June 1, 2021, 9:00 AM</ins>")
    ]
    assert said["Section"] == [("changed", "<del>Cooking</del>", "<ins>Other cooking</ins>")]
    assert said["Tags"] == [("removed", "<del>old</del>", ""), ("added", "", "<ins>new</ins>")]


def test_photos_are_shown_before_and_after(stew, compare):
    lakes = gallery("lakes")
    first, second, third = (upload(lakes, pictures.jpeg(), f"{name}.jpg") for name in ("one", "two", "three"))
    save(
        stew, nonce(stew), detail__text=f"Look:\n\n![A](photo:{first}) and ![B](photo:{second})", detail__picture=first
    )
    old = nonce(stew)
    save(stew, old, detail__text=f"Look:\n\n![A](photo:{first}) and ![B](photo:{third})", detail__picture=third)
    html = compare(stew, old)
    text, picture = (
        html.partition(f"<h2>{label}</h2>")[2].partition("</section>")[0] for label in ("Text", "Featured photo")
    )
    cells = [re.findall(r'<td class="(?:old|new)">.*?</td>', part, re.S)[-2:] for part in (text, picture)]
    named = [[re.findall(r"/photo/(\w+)/change/", cell) for cell in pair] for pair in cells]
    assert named == [[[str(second)], [str(third)]], [[str(first)], [str(third)]]]
    assert html.count("<picture>") == 4 + 3, "the rendered text shows each of the three photos once"


@pytest.mark.parametrize(("right", "is_shown"), [("view_photo", True), (None, False)])
def test_only_photos_visible_to_the_editor_are_shown(mongo, compare, editor, right, is_shown):
    bob = editor("bob", is_superuser=False)
    names = [name for name in ("view_node", right) if name]
    bob.user.user_permissions.set(Permission.objects.filter(codename__in=names, content_type__app_label="nodes"))
    lakes = gallery("lakes")
    hidden = upload(lakes, pictures.jpeg(), "hidden.jpg", fields={"published": None})
    public = upload(lakes, pictures.jpeg(), "public.jpg")
    made = node(text="Look:")
    old = nonce(made)
    save(made, old, detail__text=f"Look:\n\n![A](photo:{hidden})\n\n![B](photo:{public})")
    html = compare(made, old, bob)
    assert f"/photo/{public}/change/" in html
    assert (f"/photo/{hidden}/change/" in html) is is_shown


def test_unchanged_text_far_from_a_change_is_folded():
    texts = "\n\n".join(SAME), "\n\n".join([*SAME[:4], "Another.", *SAME[5:]])
    lines = differences.fold(differences.lines("detail.text", *texts, "blog-entry"))
    assert [line.kind for line in lines] == ["fold", "same", "changed", "same", "fold"]
    assert [len(line.lines) for line in lines if isinstance(line, Fold)] == [3, 3]
    whole = differences.fold(differences.lines("detail.text", "one", "one", "blog-entry"))
    assert [line.kind for line in whole] == ["same"]


def test_hidden_photo_is_not_shown_without_permission(mongo):
    hidden = upload(gallery("lakes"), pictures.jpeg(), fields={"published": None})
    found = differences.changes({}, {"detail.text": f"![A](photo:{hidden})"}, "blog-entry", AnonymousUser())
    assert [line.new_photos for line in found[0].lines] == [[]]


def rendered(html):
    return html.partition('<div class="rendered">')[2].partition('<div class="source">')[0]


def test_text_is_shown_as_readers_see_it_with_the_changes_marked(mongo, compare):
    photo = upload(gallery("lakes"), pictures.jpeg(), "lake.jpg")
    made = node(text=f"Some *old* words.\n\n- one\n- two\n\n![A](photo:{photo})")
    old = nonce(made)
    save(made, old, detail__text="Some **new** words.\n\n- one\n- 2 & 3")
    html = rendered(compare(made, old))
    assert '<del title="Removed"><em>old</em></del><ins title="Added"><strong>new</strong></ins> words.</p>' in html
    assert '<li><del title="Removed">two</del><ins title="Added">2 &amp; 3</ins></li>' in html
    assert re.search(rf'<del title="Removed">.*?<picture>.*?{photo}.*?</del>', html, re.S)


def test_rendered_text_is_sanitized(mongo, compare):
    made = node(text="Safe")
    old = nonce(made)
    save(made, old, detail__text='<img src=x onerror="alert(1)"> <script>alert(2)</script> [a](javascript:alert(3))')
    html = rendered(compare(made, old))
    assert '<ins title="Added">' in html
    assert not re.search(r"onerror|<script|href=.javascript", html)


def test_very_long_text_is_shown_only_as_source(mongo, compare, monkeypatch):
    monkeypatch.setattr(differences, "_MOST_RENDERED", 10)
    made = node(text="one two three")
    old = nonce(made)
    save(made, old, detail__text="one two four")
    html = compare(made, old)
    assert rendered(html) == ""
    assert "<ins>four</ins>" in html


def test_comparing_the_draft_with_the_live_version_offers_to_publish(mongo, editor):
    made = node(title="Live")
    live = nonce(made)
    draft = drafts.save_draft(EDITOR, made, live, {"title": "Drafted"})
    address = f"/admin/nodes/node/{made}/compare/?old={live}&new={draft.nonce}"
    ann = editor()
    shown_page = ann.client.get(address, follow=True)
    assert shown_page.redirect_chain == [(f"/admin/nodes/node/{made}/publish/", 302)]
    assert 'value="Publish changes"' in shown_page.content.decode()
    published = ann.client.post(shown_page.request["PATH_INFO"], {"draft": str(draft.nonce)})
    assert (published.status_code, stored(made)["title"]) == (302, "Drafted")


def test_version_to_compare_with_stays_chosen_on_the_next_page(mongo, editor, monkeypatch):
    monkeypatch.setattr(history, "SHOWN", 2)
    ann, node_id = editor(), node(title="First")
    for title in ("Second", "Third"):
        save(node_id, first := nonce(node_id), title=title)
    address = f"/admin/nodes/node/{node_id}/history/?each=1&with={nonce(node_id)}"
    html = ann.client.get(address).content.decode()
    assert f"compare/?old={nonce(node_id)}&amp;new={first}" in html
    assert "Show changes" not in html
    assert f"?each=1&amp;with={nonce(node_id)}&amp;after={first}" in html
    assert ann.client.get(f"{address}&after={first}").content.decode().count(">Compare</a>") == 1


def test_comparing_with_an_unknown_version_returns_404(mongo, editor):
    ann, address = editor(), f"/admin/nodes/node/{node()}/history/"
    for unknown in (ObjectId(), nonce(node(slug="other")), "no-id"):
        assert ann.client.get(address, {"with": str(unknown)}).status_code == 404
