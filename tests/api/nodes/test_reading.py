"""Nodes in API responses: by id, by path, in lists."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.test import override_settings
from pydantic import TypeAdapter

from api.rights.scopes import Scope
from api.schemas import shapes
from cms.testing import build
from marginalia.mongo.clock import now
from nodes.services import drafts, editing
from nodes.types import Actor, TagChange
from tests.support.nodes import photo_build, pictures

WRITER = Actor(None, "Ines")


def post(blog, slug, **changes):
    fields = {"detail.text": f"Text of **{slug}**", "published": datetime(2021, 1, 1, tzinfo=UTC), **changes}
    tags = fields.pop("tags", ())
    fields.setdefault("author", WRITER.as_document())
    made = editing.create(
        WRITER, type="blog-entry", parent_id=blog, slug=slug, title=slug.title(), fields=fields, tags=tags
    )
    return made.id, made.nonce


@pytest.fixture
def blog(mongo):
    return build.node("blog", "news", title="News")


def test_post_matches_the_schema(visitor, blog):
    key, nonce = post(blog, "hello", tags=("one",), summary="Said")
    answer = visitor.get(f"/nodes/{key}?include=body_html")
    assert answer["Content-Type"] == "application/json"
    said = json.loads(answer.content)
    TypeAdapter(shapes.any_node()).validate_python(said)
    assert (
        said
        | {
            "id": str(key),
            "type": "blog-entry",
            "nonce": str(nonce),
            "path": "/news/hello",
            "section": str(blog),
            "title": "Hello",
            "tags": ["one"],
            "author": {"name": "Ines", "path": "/author/ines"},
            "expires": None,
        }
        == said
    )
    assert said["detail"]["text"] == "Text of **hello**"
    assert "<strong>hello</strong>" in said["body_html"]
    assert "source" not in said["detail"]
    assert answer["ETag"].startswith(f'"{nonce}.')


def test_fields_parameter_selects_fields(visitor, blog):
    key, nonce = post(blog, "hello")
    picked = {"id": str(key), "type": "blog-entry", "nonce": str(nonce), "title": "Hello"}
    assert visitor.read(f"/nodes/{key}?fields=title") == picked
    assert visitor.read("/nodes?fields=title")["items"] == [picked]
    # Named fields are included, also those that otherwise need `include`.
    text = picked | {"body_html": "<p>Text of <strong>hello</strong></p>"}
    assert visitor.read(f"/nodes/{key}?fields=title,body_html") == text
    assert visitor.read("/nodes?fields=title,body_html")["items"] == [text]
    assert visitor.read("/nodes?fields=detail")["items"][0]["detail"]["text"] == "Text of **hello**"


# (query, field of the error)
WRONG = [
    ("/nodes?limit=0", "query.limit"),
    ("/nodes?limit=x", "query.limit"),
    ("/nodes?fields=password", "query.fields"),
    ("/nodes?$where=1", "query.$where"),
    ("/nodes?metadata.type=x", "query.metadata.type"),
    ("/nodes?cursor=x", "query.cursor"),
    ("/nodes?include=draft", "query.include"),
    ("/nodes?type=photo-content", "query.type"),
    ("/tree?x=1", "query.x"),
    ("/nodes?tag=a&tag=b", "query.tag"),
    ("/nodes?tag=a&q=b", "query.tag"),
    ("/nodes?facet=a", "query.facet"),
    ("/nodes/%24ne", "path.node_id"),
]


def test_malformed_parameter_is_refused_by_field(visitor):
    for path, field in WRONG:
        answer = visitor.get(path)
        said = json.loads(answer.content)
        assert (answer.status_code, answer["Content-Type"], said["status"]) == (422, "application/problem+json", 422), (
            path
        )
        assert said["type"] == "/api/v1/#invalid"
        assert field in [one["field"] for one in said["errors"]], path


def test_moved_node_is_found_by_its_old_path(visitor, blog):
    key, nonce = post(blog, "hello")
    editing.save(WRITER, key, nonce, {"slug": "again"})
    answer = visitor.get("/nodes/by-path?path=/news/hello&fields=title")
    assert answer.status_code == 308
    assert answer["Location"] == "/api/v1/nodes/by-path?path=%2Fnews%2Fagain&fields=title"
    assert visitor.read("/nodes/by-path?path=/news/again")["id"] == str(key)
    assert visitor.get("/nodes/by-path?path=/news/gone").status_code == 404


def test_returned_path_finds_its_node_in_any_script(visitor, blog):
    key, nonce = post(blog, "读书")
    answered = visitor.read(f"/nodes/{key}")["path"]
    for path in (answered, "/news/读书"):
        assert visitor.client.get("/api/v1/nodes/by-path", {"path": path}).json()["id"] == str(key)
    editing.save(WRITER, key, nonce, {"slug": "写字"})
    moved = visitor.client.get("/api/v1/nodes/by-path", {"path": answered})
    assert (moved.status_code, visitor.client.get(moved["Location"]).json()["id"]) == (308, str(key))


def test_pages_of_a_list_follow_the_cursor(visitor, blog):
    for number in range(5):
        post(blog, f"p{number}", published=datetime(2021, 1, 1 + number, tzinfo=UTC))
    shown, cursor = [], ""
    while cursor is not None:
        answer = visitor.client.get("/api/v1/nodes", {"limit": "2", **({"cursor": cursor} if cursor else {})})
        page = json.loads(answer.content)
        shown += [one["slug"] for one in page["items"]]
        cursor = page["next"]
        assert (cursor is not None) == answer.has_header("Link")
    assert shown == ["p4", "p3", "p2", "p1", "p0"]


def test_lists_can_be_filtered(visitor, blog):
    page = build.node("basic-page", "about", title="About", tags=("plain",))
    post(blog, "hello", tags=("one", "two"), **{"detail.text": "quicksilver"})
    post(blog, "hidden", published=None, tags=("one",))
    found = {
        query: [one["slug"] for one in visitor.read(f"/nodes?{query}")["items"]]
        for query in ("tag=one", "author=Ines", "type=basic-page", "q=quicksilver", f"section={blog}", "")
    }
    assert found == {
        "tag=one": ["hello"],
        "author=Ines": ["hello"],
        "type=basic-page": ["about"],
        "q=quicksilver": ["hello"],
        f"section={blog}": ["hello"],
        "": ["hello"],
    }
    assert (
        visitor.read(f"/nodes?section={blog}&include=detail,body_html")["items"][0]["detail"]["text"] == "quicksilver"
    )
    assert visitor.get(f"/nodes?section={page}").status_code == 404


def test_photo_has_the_url_of_its_file(visitor, mongo):
    gallery = photo_build.gallery("plates", title="Plates")
    key = photo_build.upload(
        gallery, pictures.jpeg(), fields={"published": now() - timedelta(days=1), "detail.alt": "A plate"}
    )
    said = visitor.read(f"/nodes/{key}")
    TypeAdapter(shapes.any_node()).validate_python(said)
    assert said["detail"]["alt"] == "A plate"
    assert visitor.client.get(said["file"]["url"]).status_code == 200
    assert [one["id"] for one in visitor.read(f"/nodes?section={gallery}")["items"]] == [str(key)]


def test_site_tree_tags_and_authors_are_returned(visitor, blog):
    key, _nonce = post(blog, "hello", tags=("one",))
    post(blog, "hidden", published=None, tags=("secret",), author={"_id": None, "name": "Unseen"})
    build.node("blog", "dark", title="Dark", published=None)
    assert visitor.read("/site")["menu"] == [{"title": "News", "url": "/news", "node": str(blog)}]
    assert [(one["id"], one["path"]) for one in visitor.read("/tree")["items"]] == [(str(blog), "/news")]
    assert visitor.read("/tags")["items"] == [{"name": "one", "description": "", "count": 1, "path": "/tag/one"}]
    assert [(one["name"], one["path"]) for one in visitor.read("/authors")["items"]] == [("Ines", "/author/ines")]


def test_unchanged_node_returns_304_with_one_command(visitor, blog, commands):
    key, nonce = post(blog, "hello", tags=("one",))
    for path in (
        f"/nodes/{key}?include=body_html",
        "/nodes?tag=one",
        "/nodes/by-path?path=/news/hello",
        "/tree",
        "/site",
    ):
        first = visitor.get(path)
        assert first.status_code == 200
        with commands.recorded() as log:
            again = visitor.get(path, If_None_Match=first["ETag"])
        assert (again.status_code, again.content, len(log)) == (304, b"", 1), path
        assert not log.written
    first = visitor.get(f"/nodes/{key}")
    editing.save(WRITER, key, nonce, {"title": "Other"})
    changed = visitor.get(f"/nodes/{key}", If_None_Match=first["ETag"])
    assert changed.status_code == 200
    assert changed["ETag"] != first["ETag"]


def test_etag_changes_with_the_bytes_under_one_nonce(visitor, blog):
    key, nonce = post(blog, "hello", tags=("one",))
    before = visitor.get(f"/nodes/{key}")["ETag"]
    editing.change_tags(key, TagChange(added=frozenset({"two"})))
    after = visitor.get(f"/nodes/{key}")["ETag"]
    assert before != after
    assert before.strip('"').partition(".")[0] == after.strip('"').partition(".")[0] == str(nonce)


def test_draft_is_returned_only_with_permission(visitor, blog, account, asker):
    editor = asker(account("ed", "Editors"), Scope.READ)
    key, nonce = post(blog, "hello")
    drafts.save_draft(WRITER, key, nonce, {"title": "Drafted"})
    said = editor.read(f"/nodes/{key}")
    assert (said["title"], said["draft"]["base_nonce"]) == ("Hello", str(nonce))
    answer = editor.get(f"/nodes/{key}?version=draft")
    assert json.loads(answer.content)["title"] == "Drafted"
    assert answer["ETag"].startswith(f'"{said["draft"]["nonce"]}.')
    assert answer["Cache-Control"] == "private, no-cache"
    assert "draft" not in visitor.read(f"/nodes/{key}")
    assert visitor.get(f"/nodes/{key}?version=draft").status_code == 404


def test_unknown_methods_and_urls_are_refused(visitor, blog):
    for answer, status in (
        (visitor.client.post("/api/v1/tree"), 405),
        (visitor.get("/nothing"), 404),
        (visitor.client.get("/api/v2/nodes"), 404),
    ):
        assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert visitor.client.post("/api/v1/tree")["Allow"] == "GET, HEAD"
    assert visitor.client.head("/api/v1/tree").status_code == 200


def test_cross_origin_reads_need_the_setting(visitor, blog):
    origin = "https://app.example.org"
    assert not visitor.get("/tree", Origin=origin).has_header("Access-Control-Allow-Origin")
    api = {"ORIGINS": [origin], "READS_PER_MINUTE": 5, "WRITES_PER_MINUTE": 5}
    with override_settings(API=api):
        asked = visitor.client.options(
            "/api/v1/tree", headers={"Origin": origin, "Access-Control-Request-Method": "GET"}
        )
        assert (asked.status_code, asked["Access-Control-Allow-Methods"]) == (204, "GET, HEAD")
        for _again in range(2):  # the second response is from the page cache
            answer = visitor.get("/tree", Origin=origin)
            assert (answer["Access-Control-Allow-Origin"], answer["Vary"]) == (origin, "Origin")
        assert not visitor.get("/tree", Origin="https://evil.example").has_header("Access-Control-Allow-Origin")
        assert not visitor.get("/tree", Origin=origin).has_header("Access-Control-Allow-Credentials")
        assert not visitor.get("/tree").has_header("Access-Control-Allow-Origin")
    with override_settings(API={**api, "ORIGINS": ["*"]}):
        # One response for all clients, so that a CDN can cache it.
        for answer in (visitor.get("/tree"), visitor.get("/tree", Origin=origin)):
            assert answer["Access-Control-Allow-Origin"] == "*"
            assert "Origin" not in answer.get("Vary", "")
