"""What the form asks for while an editor writes: previews, photos to choose from, tags in use. And who may ask."""

import hashlib
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from markup.markdown import limits
from nodes.admin import writing
from tests.support.nodes import pictures
from tests.support.nodes.build import node
from tests.support.nodes.photo_build import gallery, upload

SHOW, TAGS, PHOTOS = (f"/admin/nodes/node/{name}/" for name in ("show-text", "tags", "photos"))
STATIC = Path(__file__).parents[3] / "static"


@pytest.fixture
def moderator(editor):
    """A member of the staff who does not write."""
    made = editor("mo", is_superuser=False)
    made.user.groups.add(Group.objects.get(name="Moderators"))
    return made


def test_a_preview_is_what_readers_will_see(editor):
    answer = editor().client.post(SHOW, {"text": "## Hello\n\n*there* <script>alert(1)</script>"})
    assert answer.json()["html"].strip() == '<h2 id="s-hello">Hello</h2>\n<p><em>there</em> </p>'
    answer = editor("bob").client.post(SHOW, {"text": "*no*<b onclick=x>yes</b>", "format": "html"})
    assert answer.json()["html"] == "*no*<b>yes</b>"


def test_a_preview_shows_photos_that_are_not_public(editor):
    photo = upload(gallery(), fields={"published": None})
    html = editor().client.post(SHOW, {"text": f"![](photo:{photo})"}).json()["html"]
    assert f"/{photo}/" in html
    assert 'alt="A lake"' in html


def test_previews_are_bounded_by_account(editor, monkeypatch):
    """Of texts with many marks few a minute, of others as many as a writer can ask for."""
    # Fewer, each step smaller: on a busy machine all of them take longer than the window.
    monkeypatch.setattr(writing, "PREVIEWS", {0: 20, 5_000: 8, 20_000: 3})
    ann, bob = editor().client, editor("bob").client
    (_any, often), (_long, sometimes), (longest, seldom) = writing.PREVIEWS.items()
    costly, cheap = {"text": "|\r" * (longest // 8 + 1)}, {"text": "*a*"}

    def statuses(client, data, times):
        return [client.post(SHOW, data).status_code for _ in range(times)]

    assert statuses(ann, costly, seldom + 2) == [200] * seldom + [429] * 2
    refused = ann.post(SHOW, costly)
    assert refused["Retry-After"] == str(writing.SECONDS)
    assert statuses(ann, cheap, 3) == [200] * 3
    assert statuses(bob, {"text": "|" * (longest // 6 - 1)}, sometimes + 1) == [200] * sometimes + [429]
    assert statuses(bob, cheap, often)[-1] == 429


def test_all_previews_of_a_minute_take_a_third_of_a_processor_at_most():
    """A mark takes some 10 µs."""
    most = [*list(writing.PREVIEWS)[1:], limits.MOST_MARKS]
    assert sum(times * marks for times, marks in zip(writing.PREVIEWS.values(), most, strict=True)) <= 2_000_000


def test_previews_need_rights_and_a_token(editor, moderator):
    assert moderator.client.post(SHOW, {"text": "x"}).status_code == 403
    assert Client().post(SHOW, {"text": "x"})["Location"].startswith("/admin/login/")
    assert editor().client.get(SHOW).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(editor("eve").user)
    assert strict.post(SHOW, {"text": "x"}).status_code == 403


def test_photos_are_found_by_words_and_by_their_beginnings(editor, moderator):
    place = gallery()
    made = {}
    for number, (title, alt) in enumerate([("Lake at dawn", "Mist"), ("Harbour", "Boats in fog"), ("岡山", "山")]):
        made[title] = upload(place, pictures.jpeg(number), f"{number}.jpg", fields={"title": title, "detail.alt": alt})
    client = editor().client

    def found(query):
        return [photo["title"] for photo in client.get(PHOTOS, {"q": query}).json()["photos"]]

    assert found("") == ["岡山", "Harbour", "Lake at dawn"]
    assert found("fog") == found("boat") == found("BOATS in") == ["Harbour"]
    assert found("daw") == ["Lake at dawn"]
    assert found("岡") == ["岡山"]
    assert found("nothing such") == found("$%") == []
    (choice,) = client.get(PHOTOS, {"q": "harbour"}).json()["photos"]
    assert choice["markdown"] == f"![Boats in fog](photo:{made['Harbour']})"
    assert client.get(choice["thumbnail"]).status_code == 200
    assert moderator.client.get(PHOTOS).status_code == 403


def test_tags_in_use_complete_what_is_typed(editor, moderator):
    node(slug="a", tags=("Reading", "bread", "type"))
    upload(gallery(), tags=("real photo",))
    client = editor().client

    def offered(typed):
        return client.get(TAGS, {"q": typed}).json()["tags"]

    assert offered("rea") == ["Reading", "real photo", "bread"]
    assert offered("TY") == ["type"]
    assert offered("xyz") == []
    assert moderator.client.get(TAGS, {"q": "r"}).status_code == 403


@pytest.mark.parametrize("title", ["Das Café über der Straße", "红楼梦的批注", "短歌を訳す", "Привет, мир"])
def test_a_slug_is_proposed_for_titles_of_any_script(editor, title):
    answer = editor().client.get("/admin/nodes/node/propose-slug/", {"title": title, "section": "top"}).json()
    assert re.fullmatch(r"[\w-]+", answer["slug"])
    assert len(answer["slug"]) >= 4


def test_the_editor_is_as_its_authors_published_it():
    sums = (STATIC / "vendor/SHA256SUMS").read_text().splitlines()
    named = dict(reversed(line.split("  ")) for line in sums)
    present = {str(p.relative_to(STATIC / "vendor")) for p in (STATIC / "vendor/easymde").iterdir()}
    assert named.keys() == present
    for name, expected in named.items():
        assert hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == expected
    script = (STATIC.parent / "tools/vendor.sh").read_text()
    version = re.search(r"package easymde (\S+)", script)[1]
    assert f"easymde v{version}" in (STATIC / "vendor/easymde/easymde.min.js").read_text()
    assert f"| {version} |" in (STATIC / "vendor/README.md").read_text()
