"""Markdown fields that a type declares in addition to the text: rendered, indexed and checked in the same way."""

import re

import pytest
from bson import ObjectId
from django.db import models
from django.template import Context, Template
from django_mongodb_backend.fields import EmbeddedModelArrayField

from cms.testing.build import EDITOR, node, nonce, save, stored
from marginalia.mongo.clock import now
from nodes.content import Blog, Entry, MarkdownField, Part
from nodes.errors import WrongInsert
from nodes.models import tree
from nodes.selectors import editable_nodes, references
from nodes.selectors.references import State
from nodes.services import drafts, trash
from tests.support.nodes.content import registered
from tests.support.nodes.photo_build import gallery, upload

WRONG = "Fine.\n\n::gallery{colour=red}"
FILM = "::embed{url=https://www.youtube.com/watch?v=aqz-KE-bpKQ}"


class Stop(Part):
    """One place of a walk."""

    name = models.CharField(max_length=50)
    about = MarkdownField(blank=True)


class Walk(Entry):
    """A walk, told twice."""

    stands_in = [Blog]

    advice = MarkdownField(blank=True)
    stops = EmbeddedModelArrayField(Stop, null=True, blank=True)


@pytest.fixture
def blog(mongo):
    with registered(Walk):
        yield node("blog", "walks")


def walk(blog, slug="hill", **fields):
    return node("walk", slug, parent=blog, **{f"detail.{name}": value for name, value in fields.items()})


def shown(node_id: ObjectId) -> str:
    page = Template(
        "{% load content %}{{ detail.advice|markdown }}{% for stop in detail.stops %}{{ stop.about|markdown }}{% endfor %}"
    )
    return page.render(Context({"detail": editable_nodes.load(node_id).node.metadata.detail}))


def derived(mongo, node_id: ObjectId) -> dict:
    return mongo["cms.nodes"].find_one({"_id": node_id})["derived"]


def test_field_is_shown_with_inserts_photos_and_links(blog):
    photo, target = upload(gallery("lakes")), node(slug="target")
    made = walk(
        blog,
        advice=f"*Mind* [the way](node:{target})\n\n![](photo:{photo})\n\n:::note{{title=Take}}\nWater.\n:::",
        stops=[{"name": "Mill", "about": f"::button{{link=node:{target} text=Go}} \n\n<script>x</script>"}],
    )
    html = shown(made)
    for told in ("<em>Mind</em>", '<a href="/target"', "<picture>", "Take", "Water.", ">Go</a>"):
        assert told in html
    assert "script" not in html
    save(target, nonce(target), slug="elsewhere")
    assert '<a href="/elsewhere"' in shown(made)
    trash.trash(EDITOR, target, nonce(target))
    assert "the way" in shown(made)
    assert "elsewhere" not in shown(made)
    assert shown(walk(blog, "empty")) == ""


def test_footnotes_of_a_field_have_their_own_ids(blog, client):
    noted = '{} so.[^1]\n\n[^1]: A note, ` id="s-fn:1"`.'
    made = walk(blog, advice=noted.format("Here"), stops=[{"name": "Mill", "about": noted.format("There")}])
    html = shown(made)
    ids = re.findall(r'<[^<>]* id="(s-[^"]*)"', html)
    assert len(ids) == len(set(ids)) == 4
    assert not {"s-fn:1", "s-fnref:1"} & set(ids)
    assert set(re.findall(r' href="#([^"]*)"', html)) == set(ids)
    assert html.count('id="s-fn:1"</code>') == 2


def test_references_and_words_of_a_field_are_indexed(blog, mongo):
    target, other = node(slug="target"), node(slug="other")
    made = walk(
        blog,
        advice=f"::button{{link=node:{target} text=Platform}}",
        stops=[{"name": "Mill", "about": f":::note\n[way](node:{other})\n:::"}],
    )
    assert derived(mongo, made)["refs"] == [*sorted([target, other]), "button", "note"]
    assert "Platform" in derived(mongo, made)["text"]
    assert "::" not in derived(mongo, made)["text"]
    drafts.save_draft(EDITOR, made, nonce(made), {"detail.advice": "::contents", "detail.stops": []})
    assert mongo["cms.nodes"].find_one({"_id": made})["draft"]["refs"] == ["contents"]


def test_broken_link_in_a_field_is_reported_with_its_words(blog):
    gone = ObjectId()
    walk(blog, advice=f"[*this* way](node:{gone})")
    (found,) = [one for look in references.check_all(tree.current(), now()) for one in look.broken]
    assert (found.target, found.state, found.words) == (gone, State.GONE, ("this way",))


@pytest.mark.parametrize(
    ("fields", "path", "fault"),
    [
        ({"advice": WRONG}, "detail.advice", "Line 3: “gallery” has no attribute “colour”"),
        (
            {"stops": [{"name": "A", "about": "Fine."}, {"name": "B", "about": WRONG}]},
            "detail.stops",
            "2: Line 3: “gallery”",
        ),
    ],
)
def test_invalid_insert_is_refused_at_its_field_and_line(blog, fields, path, fault):
    made = walk(blog, advice="Before.")
    for save_it in (
        lambda: walk(blog, "new", **fields),
        lambda: save(made, nonce(made), **{f"detail__{name}": value for name, value in fields.items()}),
        lambda: drafts.save_draft(EDITOR, made, nonce(made), {f"detail.{n}": value for n, value in fields.items()}),
    ):
        with pytest.raises(WrongInsert) as refused:
            save_it()
        assert refused.value.path == path
        assert refused.value.faults[0].startswith(fault)
    assert stored(made)["detail"]["advice"] == "Before."
    save(made, nonce(made), detail__advice="::contents", detail__stops=[{"name": "A", "about": ":::note\nFine.\n:::"}])
    assert stored(made)["detail"]["advice"] == "::contents"


def test_unchanged_field_is_not_checked_again(blog, mongo):
    made = walk(blog)
    mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"metadata.detail.advice": WRONG}})
    save(made, nonce(made), title="Other")
    assert stored(made)["title"] == "Other"


def test_form_shows_the_error_at_the_field(blog, editor):
    made, ann = walk(blog, advice="Before."), editor()
    address = f"/admin/nodes/node/{made}/change/"
    form = ann.open(address)
    refused = ann.send(address, form, advice=WRONG)
    html = refused.content.decode()
    assert refused.status_code == 200
    assert html.index("Line 3: “gallery” has no attribute") < html.index("::gallery{colour=red}")
    assert ann.send(address, form, advice="::contents").status_code == 302
    assert stored(made)["detail"]["advice"] == "::contents"


def test_page_loads_the_assets_of_inserts_in_a_field(blog, client):
    def needed(slug: str) -> tuple[int, int]:
        html = client.get(f"/walks/{slug}").content.decode()
        return html.count("/embeds."), html.count('class="lightbox"')

    shown_photos = f"::gallery{{photos=photo:{upload(gallery('lakes'))}}}"
    walk(blog, "film", advice=FILM)
    walk(blog, "rows", stops=[{"name": "Mill", "about": shown_photos}])
    walk(blog, "both", text=shown_photos, advice=f"{shown_photos}\n\n{FILM}")
    walk(blog, "plain", advice="No film.")
    assert [needed(slug) for slug in ("film", "rows", "both", "plain")] == [(1, 0), (0, 1), (1, 1), (0, 0)]


def test_players_in_a_field_are_allowed_in_frames(blog, client):
    walk(blog, "film", advice=FILM)
    walk(blog, "plain", advice="No film.")
    policy = "Content-Security-Policy"
    assert "frame-src https://www.youtube-nocookie.com" in client.get("/walks/film")[policy]
    assert "frame-src" not in client.get("/walks/plain")[policy]
