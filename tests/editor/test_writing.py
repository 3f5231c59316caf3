"""Requests of the form while an editor writes: previews, photos, tags. Also their permissions."""

import gzip
import hashlib
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from cms.testing.build import PAST, node, nonce
from editor import writing
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Target
from marginalia.markup.markdown import limits
from marginalia.mongo.clock import now
from nodes.selectors import picking
from reader.views import previews
from reader.views.previews import Preview
from tests.support.nodes import pictures
from tests.support.nodes.content import Cookbook, Recipe, registered
from tests.support.nodes.photo_build import gallery, upload

SHOW, TAGS, PHOTOS = (f"/admin/nodes/node/{name}/" for name in ("show-typed", "tags", "photos"))
NEW = {"type": "basic-page", "title": "New", "text": "x"}
ROOT = Path(__file__).parents[2]
STATIC = ROOT / "static"


@pytest.fixture
def moderator(editor):
    """A staff member who does not write."""
    made = editor("mo", is_superuser=False)
    made.user.groups.add(Group.objects.get(name="Moderators"))
    return made


def test_preview_equals_the_page_for_readers(editor):
    typed = {**NEW, "title": "Typed", "text": "## Hello\n\n*there* <script>alert(1)</script>"}
    html = editor().client.post(SHOW, typed).json()["html"]
    assert (
        'Hello<a class="anchor" href="#s-hello" aria-label="Link to this section"></a></h2>\n<p><em>there</em> </p>'
        in html
    )
    assert "<h1>Typed</h1>" in html
    assert "site/site.css" in html
    typed = {**NEW, "text": "*no*<b onclick=x>yes</b>", "format": "html"}
    assert "*no*<b>yes</b>" in editor("bob").client.post(SHOW, typed).json()["html"]


def test_preview_merges_form_and_page_and_stores_nothing(mongo, editor):
    ann, node_id = editor(), node(title="Stored", text="Stored words.", summary="Stored summary.")
    form = ann.open(f"/admin/nodes/node/{node_id}/change/")
    before = mongo["cms.nodes"].find_one({"_id": node_id})
    answer = ann.client.post(SHOW, {**form, "_node": str(node_id), "title": "", "text": "Typed words."})
    html = answer.json()["html"]
    assert "<h1>Stored</h1>" in html, "what is wrong with the form is as it is stored"
    assert "Typed words." in html
    assert "Stored summary." in html
    assert "Stored words." not in html
    assert mongo["cms.nodes"].find_one({"_id": node_id}) == before


def test_preview_shows_the_fields_of_a_content_type(editor):
    with registered(Recipe, Cookbook):
        stew = node("recipe", "stew", parent=node("cookbook", "cooking"), **{"detail.course": "main"})
        ann = editor()
        form = ann.open(f"/admin/nodes/node/{stew}/change/")
        answer = ann.client.post(SHOW, {**form, "_node": str(stew), "title": "Hot stew"})
        assert "<h1>Hot stew</h1>" in answer.json()["html"]


def test_preview_shows_only_visible_pages(editor):
    typed = {"type": "basic-page", "_node": str(node(title="Zqsecret", published=None)), "title": ""}
    author = editor("author", is_superuser=False)
    author.user.groups.add(Group.objects.get(name="Authors"))
    assert "<h1>Zqsecret</h1>" in editor().client.post(SHOW, typed).json()["html"]
    assert "Zqsecret" not in author.client.post(SHOW, typed).json()["html"]
    assert editor("bob").client.post(SHOW, {"text": "x", "type": "none"}).status_code == 400


@pytest.mark.parametrize("published", [None, PAST])
def test_preview_queries_no_comments(editor, published):
    post = node("blog-entry", "post", parent=node("blog", "news"), published=published)
    client = editor().client
    for _time in range(2):
        html = client.get(f"/admin/nodes/node/{post}/preview/").content.decode()
        assert "data-comments-form" not in html
    assert "The published page shows comments here" in html
    services.post(Target("nodes.node", str(post)), author=CommentAuthor("A"), source="Said", token="x" * 24)
    html = client.get(f"/admin/nodes/node/{post}/preview/").content.decode()
    assert "The published page shows 1 comment here." in html
    assert "data-comments-form" not in html


def test_preview_marks_photos_and_links_readers_cannot_see(editor):
    photo, hidden = upload(gallery(), fields={"published": None}), node(slug="hidden", published=None)
    page = node(text=f"![](photo:{photo})\n\n[there](node:{hidden})")
    html = editor().client.get(f"/admin/nodes/node/{page}/preview/").content.decode()
    assert '<small class="not-public">(not public)</small></figcaption>' in html
    assert '<span class="broken-link">there <small>(not public)</small></span>' in html
    assert "not-public" not in Client().get("/page").content.decode()
    link = previews.link(Preview(page, nonce(page)))
    assert "not-public" not in Client().get(link).content.decode(), "nor to whom it is shown by a link"


def test_preview_shows_hidden_photos(editor):
    photo = upload(gallery(), fields={"published": None})
    html = editor().client.post(SHOW, {**NEW, "text": f"![](photo:{photo})"}).json()["html"]
    assert f"/{photo}/" in html
    assert 'alt="A lake"' in html


@pytest.mark.slow
def test_previews_are_limited_per_account(editor, monkeypatch):
    """Texts with many marks have a low limit, other texts as many previews as a writer can request."""
    # Fewer and smaller steps, because on a busy machine all of them take longer than the window.
    monkeypatch.setattr(writing, "PREVIEWS", {0: 20, 5_000: 8, 20_000: 3})
    ann, bob = editor().client, editor("bob").client
    (_any, often), (_long, sometimes), (longest, seldom) = writing.PREVIEWS.items()
    costly, cheap = {**NEW, "text": "|\r" * (longest // 8 + 1)}, {**NEW, "text": "*a*"}

    def statuses(client, data, times):
        return [client.post(SHOW, data).status_code for _ in range(times)]

    assert statuses(ann, costly, seldom + 2) == [200] * seldom + [429] * 2
    refused = ann.post(SHOW, costly)
    assert refused["Retry-After"] == str(writing.SECONDS)
    assert statuses(ann, cheap, 3) == [200] * 3
    assert statuses(bob, {**NEW, "text": "|" * (longest // 6 - 1)}, sometimes + 1) == [200] * sometimes + [429]
    assert statuses(bob, cheap, often)[-1] == 429


def test_previews_of_a_minute_use_a_third_of_a_processor():
    """A mark takes about 10 µs."""
    most = [*list(writing.PREVIEWS)[1:], limits.MAX_MARKS]
    assert sum(times * marks for times, marks in zip(writing.PREVIEWS.values(), most, strict=True)) <= 2_000_000


def test_previews_need_permission_and_a_token(editor, moderator):
    assert moderator.client.post(SHOW, NEW).status_code == 403
    assert Client().post(SHOW, NEW)["Location"].startswith("/admin/login/")
    assert editor().client.get(SHOW).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(editor("eve").user)
    assert strict.post(SHOW, NEW).status_code == 403


def test_photos_are_found_by_words_and_prefixes(editor, moderator):
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
    assert choice["public"]
    upload(place, pictures.jpeg(9), "9.jpg", fields={"title": "Tomorrow", "published": now() + timedelta(days=1)})
    assert not client.get(PHOTOS, {"q": "tomorrow"}).json()["photos"][0]["public"]
    assert moderator.client.get(PHOTOS).status_code == 403


def test_photos_are_limited_to_a_gallery_and_continued(editor, monkeypatch):
    monkeypatch.setattr(picking, "OFFERED", 2)
    lakes, client = gallery("lakes"), editor().client
    for number, place in enumerate((lakes, lakes, None, lakes)):
        upload(place, pictures.jpeg(number), f"{number}.jpg", fields={"title": f"Photo {number}", "published": None})

    def found(**query):
        answer = client.get(PHOTOS, query).json()
        return [photo["title"] for photo in answer["photos"]], answer["more"]

    titles, more = found(section=str(lakes))
    assert titles == ["Photo 3", "Photo 1"]
    assert found(section=str(lakes), **{"from": more}) == (["Photo 0"], "")
    assert found(section="top") == (["Photo 2"], "")
    assert found(section=str(lakes), q="photo")[0] == ["Photo 3", "Photo 1"]
    assert found(section="top", q="photo") == (["Photo 2"], "")
    for query in ({"section": "$ne"}, {"from": "x"}):
        assert client.get(PHOTOS, query).status_code == 404


def test_tags_in_use_complete_the_typed_text(editor, moderator):
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
def test_slug_is_proposed_for_titles_in_any_script(editor, title):
    answer = editor().client.get("/admin/nodes/node/propose-slug/", {"title": title, "section": "top"}).json()
    assert re.fullmatch(r"[\w-]+", answer["slug"])
    assert len(answer["slug"]) >= 4


def test_vendored_files_match_their_checksums():
    sums = (STATIC / "vendor/SHA256SUMS").read_text().splitlines()
    named = dict(reversed(line.split("  ")) for line in sums)
    present = {str(p.relative_to(STATIC / "vendor")) for p in (STATIC / "vendor").glob("*/*")}
    assert named.keys() == present
    for name, expected in named.items():
        assert hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == expected


# The maximum size of each bundle, in bytes: minified, and compressed.
SIZES = {"codemirror": (400_000, 130_000), "turndown": (20_000, 8_000)}


@pytest.mark.parametrize("name", SIZES)
def test_bundle_matches_its_packages(tmp_path, name):
    made = tmp_path / "bundle.js"
    options = [
        "--bundle",
        "--minify",
        "--format=esm",
        "--target=es2022",
        "--legal-comments=none",
        "--log-level=warning",
    ]
    entry = f"tools/vendor/{name}/{name}.js"
    subprocess.run(["node_modules/.bin/esbuild", entry, *options, f"--outfile={made}"], cwd=ROOT, check=True)
    bundle = (STATIC / f"vendor/{name}/{name}.js").read_bytes()
    assert made.read_bytes() == bundle, "run make vendor"
    minified, compressed = SIZES[name]
    assert len(bundle) <= minified
    assert len(gzip.compress(bundle)) <= compressed


@pytest.mark.parametrize("moved", [timedelta(hours=-1), timedelta(hours=1)])
def test_preview_at_another_time_omits_the_page_itself(editor, moved):
    blog, at = node("blog", "blog"), datetime(2024, 5, 1, 12, 0, 17, tzinfo=UTC)
    node("blog-entry", "older", parent=blog, published=at - timedelta(days=1))
    post = node("blog-entry", "post", parent=blog, title="Post", published=at)
    node("blog-entry", "newer", parent=blog, published=at + timedelta(days=1))
    ann = editor()
    form = ann.open(f"/admin/nodes/node/{post}/change/")
    day, time = f"{at + moved:%Y-%m-%d %H:%M}".split()
    html = ann.client.post(SHOW, {**form, "_node": str(post), "published_0": day, "published_1": time}).json()["html"]
    assert re.findall(r'rel="(?:prev|next)" href="/blog/(\w+)"', html) == ["newer", "older"]
