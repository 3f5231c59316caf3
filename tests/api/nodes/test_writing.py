"""Writing with the API: what is stored, what is refused and why, and that no change is lost."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId

from api.rights.scopes import Scope
from cms.testing import build
from cms.testing.build import stored
from marginalia.mongo.clock import now
from nodes.services import drafts, editing
from nodes.types import Actor, TagChange
from tests.support.nodes import photo_build, pictures
from tests.support.nodes.content import Everything, registered

BOB = Actor(None, "Bob")
PARAGRAPHS = [f"Paragraph {number}." for number in range(16)]
TEXT = "\n\n".join(PARAGRAPHS)
FUTURE = datetime(2999, 5, 1, tzinfo=UTC)


@pytest.fixture
def blog(mongo):
    return build.node("blog", "news", title="News")


@pytest.fixture
def editor(account, asker):
    return asker(account("ed", "Editors"), Scope.WRITE, Scope.PUBLISH)


@pytest.fixture
def author(account, asker):
    return asker(account("own", "Authors"), Scope.WRITE)


def made(asker, blog, **said):
    """Create a post with the API, and return its id and its ETag."""
    answer = asker.send(
        "POST",
        "/nodes",
        {"type": "blog-entry", "section": str(blog), "title": "Post", "detail": {"text": TEXT}, **said},
    )
    assert answer.status_code == 201, answer.content
    return json.loads(answer.content)["id"], answer["ETag"]


def document(node_id):
    return stored(ObjectId(node_id))


def test_post_is_created_as_a_draft(author, blog, mongo):
    answer = author.send(
        "POST",
        "/nodes",
        {
            "type": "blog-entry",
            "section": str(blog),
            "title": " On lists ",
            "summary": "Short",
            "tags": ["b", "a", "B"],
            "detail": {"text": "Some *words*."},
        },
    )
    said = json.loads(answer.content)
    assert (answer.status_code, answer["Location"]) == (201, f"/api/v1/nodes/{said['id']}")
    kept = document(said["id"])
    assert (kept["title"], kept["slug"], kept["parent_id"], kept["published"]) == ("On lists", "on-lists", blog, None)
    assert (kept["summary"], kept["tags"], kept["detail"]["text"]) == ("Short", ["a", "b"], "Some *words*.")
    assert kept["author"]["name"] == "own"
    read = author.get(f"/nodes/{said['id']}")
    assert (read.content, read["ETag"]) == (answer.content, answer["ETag"])


REFUSED = [
    ({"type": "no-such"}, "type"),
    ({"type": "photo"}, "type"),
    ({"title": ""}, "title"),
    ({"title": "x" * 301}, "title"),
    ({"title": "a\x00b"}, "title"),
    ({"slug": "no/slug"}, "slug"),
    ({"slug": "taken"}, "slug"),
    ({"section": "0" * 24}, "section"),
    ({"section": "x"}, "section"),
    ({"metadata.type": "x"}, "metadata.type"),
    ({"$set": {}}, "$set"),
    ({"nonce": "0" * 24}, "nonce"),
    ({"detail": {"$set": 1}}, "detail.$set"),
    ({"detail": {"a.b": 1}}, "detail.a.b"),
    ({"detail": {"source": {}}}, "detail.source"),
    ({"detail": {"format": "pdf"}}, "detail.format"),
    ({"detail": {"text": {"$ne": 1}}}, "detail.text"),
    ({"detail": {"text": "x" * 1_000_001}}, "detail.text"),
    ({"detail": {"text": 5}}, "detail.text"),
    ({"detail": {"comments": "close"}}, "detail.comments"),
    ({"detail": {"is_pinned": "no"}}, "detail.is_pinned"),
    ({"summary": "x" * 1_000_001}, "summary"),
    ({"published": "yesterday"}, "published"),
    ({"published": "2021-01-01T00:00:00"}, "published"),
    ({"published": "0001-01-01T00:00:00Z"}, "published"),
    ({"published": 0}, "published"),
    ({"published": "0"}, "published"),
    ({"published": True}, "published"),
    ({"published": "2998-01-01T00:00:00Z", "expires": "2997-01-01T00:00:00Z"}, "expires"),
    ({"tags": ["x" * 101]}, "tags.0"),
    ({"author": {"name": "x", "account": "0" * 24}}, "author"),
    ({"author": None}, "author"),
]


def test_invalid_values_are_refused_by_field(editor, blog, mongo, settings):
    settings.API = {**settings.API, "WRITES_PER_MINUTE": 10_000}
    build.node("blog-entry", "taken", parent=blog)
    key, etag = made(editor, blog)
    before = list(mongo["cms.nodes"].find().sort("_id"))
    for said, field in REFUSED:
        new = {"type": "blog-entry", "section": str(blog), "title": "Post", **said}
        answers = [editor.send("POST", "/nodes", new)]
        if field in ("title", "$set", "detail.$set", "section", "published"):
            answers.append(editor.send("PATCH", f"/nodes/{key}", said, If_Match=etag))
        for answer in answers:
            told = json.loads(answer.content)
            assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json"), (said, told)
            assert f"body.{field}" in [one["field"] for one in told["errors"]], (said, told)
    assert list(mongo["cms.nodes"].find().sort("_id")) == before


# Fields whose JSON form differs from the stored form, and their JSON.
KINDS = [
    ("words", 5, "a"),
    ("line", True, "a"),
    ("whole", 2.7, 2),
    ("whole", "2", 2),
    ("whole", True, 2),
    ("part_of_one", "1", 1),
    ("price", True, "2.50"),
    ("price", [], 2),
    ("is_so", 1, True),
    ("may_be", "t", None),
    ("on", 20210101, "2021-01-01"),
    ("at", 900, "09:00"),
    ("moment", 0, "2021-01-01T00:00:00Z"),
    ("numbers", ["1"], [1]),
    ("lines", [1], ["1"]),
    ("piece", {"name": 1}, {"name": "1"}),
    ("pieces", [{"name": "a", "number": "1"}], [{"name": "a"}]),
]


@pytest.mark.slow
def test_declared_field_accepts_its_json_type(editor, blog):
    with registered(Everything):
        for number, (name, wrong, right) in enumerate(KINDS):
            new = {"type": "everything", "section": str(blog), "title": f"Thing {number}"}
            refused = editor.send("POST", "/nodes", {**new, "detail": {name: wrong}})
            told = json.loads(refused.content)
            named = [one["field"] for one in told["errors"]]
            assert (refused.status_code, named) == (422, [f"body.detail.{name}"]), (name, wrong, told)
            answer = editor.send("POST", "/nodes", {**new, "detail": {name: right}})
            assert answer.status_code == 201, (name, right, answer.content)


def test_change_is_a_merge_patch_of_the_if_match_version(editor, blog):
    key, etag = made(editor, blog, tags=["a", "b"], summary="Short", published="2021-01-01T00:00:00Z")
    answer = editor.send("PATCH", f"/nodes/{key}", {"title": "New", "summary": None, "tags": ["b", "c"]}, If_Match=etag)
    kept = document(key)
    assert answer.status_code == 200, answer.content
    assert (kept["title"], kept["summary"], kept["tags"], kept["detail"]["text"]) == ("New", "", ["b", "c"], TEXT)
    assert (kept["published"], kept["slug"]) == (datetime(2021, 1, 1, tzinfo=UTC), "post")
    assert answer["ETag"].startswith(f'"{kept["nonce"]}.')
    assert editor.get(f"/nodes/{key}")["ETag"] == answer["ETag"]
    for status, headers in ((428, {}), (428, {"If_Match": "*"}), (412, {"If_Match": '"x"'}), (412, {"If_Match": etag})):
        refused = editor.send("PATCH", f"/nodes/{key}", {"title": "Other"}, **headers)
        assert (refused.status_code, refused["Content-Type"]) == (status, "application/problem+json")
    assert document(key) == kept


def test_sixteen_concurrent_changes_all_survive(editor, blog):
    key, etag = made(editor, blog)
    sent = [{"detail": {"text": TEXT.replace(f"{one}", f"{one} Edited.")}} for one in PARAGRAPHS]
    answers = [editor.send("PATCH", f"/nodes/{key}", one, If_Match=etag) for one in sent]
    assert [answer.status_code for answer in answers] == [200, *[412] * 15]
    for answer in answers[1:]:
        said = json.loads(answer.content)
        assert said["conflicts"] == []
        while answer.status_code == 412:
            said = json.loads(answer.content)
            answer = editor.send("PATCH", f"/nodes/{key}", said["merged"], If_Match=said["etag"])
        assert answer.status_code == 200
    assert document(key)["detail"]["text"] == "\n\n".join(f"{one} Edited." for one in PARAGRAPHS)


def test_stale_change_returns_the_conflicts(editor, blog):
    key, etag = made(editor, blog, tags=["a"])
    document_id = document(key)["nonce"]
    theirs = {"title": "Theirs", "detail.text": TEXT.replace("Paragraph 3.", "Theirs.")}
    editing.save(BOB, ObjectId(key), document_id, theirs, TagChange.between(["a"], ["a", "theirs"]))
    mine = {"title": "Mine", "tags": ["a", "mine"], "detail": {"text": TEXT.replace("Paragraph 7.", "Mine.")}}
    for query in ("", "?merge=1"):
        answer = editor.send("PATCH", f"/nodes/{key}{query}", mine, If_Match=etag)
        said = json.loads(answer.content)
        assert answer.status_code == 412
        both = theirs["detail.text"].replace("Paragraph 7.", "Mine.")
        assert said["base"] == {"title": "Post", "detail": {"text": TEXT}}
        assert said["stored"] == {"title": "Theirs", "detail": {"text": theirs["detail.text"]}, "tags": ["a", "theirs"]}
        assert said["yours"] == mine
        assert said["merged"] == {"detail": {"text": both}, "tags": ["a", "mine", "theirs"]}
        assert said["conflicts"] == [{"field": "body.title", "base": "Post", "yours": "Mine", "stored": "Theirs"}]
        assert said["etag"] == f'"{document(key)["nonce"]}"'
    assert document(key)["title"] == "Theirs"
    del mine["title"]
    answer = editor.send("PATCH", f"/nodes/{key}?merge=1", mine, If_Match=etag)
    assert answer.status_code == 200
    assert (document(key)["detail"]["text"], document(key)["tags"]) == (both, ["a", "mine", "theirs"])


def test_each_conflict_in_a_text_is_listed_with_the_text_around_it(editor, blog):
    key, etag = made(editor, blog)
    theirs = TEXT.replace("Paragraph 3.", "Theirs.").replace("Paragraph 5.", "Also theirs.")
    editing.save(BOB, ObjectId(key), document(key)["nonce"], {"detail.text": theirs})
    mine = {"detail": {"text": TEXT.replace("Paragraph 3.", "Mine.").replace("Paragraph 7.", "Also mine.")}}
    said = json.loads(editor.send("PATCH", f"/nodes/{key}", mine, If_Match=etag).content)
    (conflict,) = said["conflicts"]
    before, contested, after = conflict["chunks"]
    assert contested == {"base": "Paragraph 3.", "yours": "Mine.", "stored": "Theirs.", "gap": "\n\n"}
    assert before["merged"].endswith("Paragraph 2.")
    merged = "".join([before["merged"], before["gap"], "Mine.", contested["gap"], after["merged"]])
    assert merged == conflict["yours"]
    assert "Also theirs." in merged
    assert "Also mine." in merged


def test_tags_are_changed_at_the_if_match_version(editor, blog, mongo):
    key, etag = made(editor, blog, tags=["a"], published="2021-01-01T00:00:00Z")
    editing.save(BOB, ObjectId(key), document(key)["nonce"], {"title": "Theirs"}, TagChange.between(["a"], ["a", "b"]))
    unknown = f'"{ObjectId()}"'
    for version in ("live", "draft"):
        path = f"/nodes/{key}?version={version}"
        for seen, merged in ((etag, ["b", "mine"]), (unknown, ["mine"])):
            answer = editor.send("PATCH", path, {"tags": ["mine"]}, If_Match=seen)
            assert answer.status_code == 412, (version, seen)
            said = json.loads(answer.content)
            assert (said["merged"], said["stored"]) == ({"tags": merged}, {"tags": ["a", "b"]})
        assert document(key)["tags"] == ["a", "b"]
        assert editor.send("PATCH", path, {"tags": ["b", "a"]}, If_Match=etag).status_code == 200, "changes nothing"
    draft = editor.send("PATCH", f"{path}&merge=1", {"tags": ["mine"]}, If_Match=etag)
    assert (draft.status_code, json.loads(draft.content)["tags"]) == (200, ["b", "mine"])
    answer = editor.send("PATCH", f"/nodes/{key}?merge=1", {"tags": ["mine"]}, If_Match=etag)
    assert (answer.status_code, document(key)["tags"]) == (200, ["b", "mine"])


def test_node_is_published_scheduled_moved_and_tagged(editor, blog):
    second = build.node("blog", "second")
    key, etag = made(editor, blog)

    def do(what, said=None, *, of=None, **kwargs):
        answer = editor.send("POST", f"/nodes/{key}/{what}", said, If_Match=of or etag)
        assert answer.status_code == kwargs.get("status", 200), answer.content
        return answer.get("ETag")

    etag = do("publish")
    assert document(key)["published"] <= now()
    do("schedule", {"at": FUTURE.isoformat()}, status=422)
    etag = do("unpublish")
    assert document(key)["published"] is None
    etag = do("schedule", {"at": FUTURE.isoformat()})
    assert document(key)["published"] == FUTURE
    etag = do("move", {"section": str(second), "slug": "other"})
    assert (document(key)["parent_id"], document(key)["slug"]) == (second, "other")
    do("tags", {"add": ["x", "y"]}, of="none")
    do("tags", {"add": ["x"], "remove": ["y"]}, of="none")
    assert document(key)["tags"] == ["x"]
    do("publish", status=412, of='"656565656565656565656565"')
    for again in range(2):
        do("trash", status=204)
        assert editor.get(f"/nodes/{key}").status_code == 404, again
    do("restore", status=412, of='"656565656565656565656565"')
    back = editor.client.generic("POST", f"/api/v1/nodes/{key}/restore", headers={"If-Match": etag})
    assert (back.status_code, document(key)["slug"]) == (200, "other"), back.content
    do("trash", status=204)
    for _again in range(2):
        do("restore", {"slug": "back"})
        assert (document(key)["parent_id"], document(key)["slug"]) == (second, "back")


def test_problem_contains_the_fix(editor, blog):
    key, etag = made(editor, blog)
    post = {"type": "blog-entry", "section": str(blog), "title": "Post"}
    wanted = [
        (editor.send("POST", "/nodes", {**post, "titel": "x"}), "This field doesn't exist."),
        (editor.send("POST", "/nodes", {"title": "x"}), "This field is required."),
        (
            editor.send("POST", "/nodes", {**post, "section": None}),
            "This type of content can't be placed at the top level. Specify a section.",
        ),
        (
            editor.send("POST", "/nodes", {**post, "section": key}),
            "Choose an existing section that can contain this page.",
        ),
        (
            editor.send("POST", "/nodes", {**post, "published": 0}),
            "Include the time zone, such as 2026-05-01T09:00:00Z.",
        ),
        (editor.send("POST", "/nodes", {**post, "detail": {"is_pinned": 1}}), "“is_pinned” must be true or false."),
        (editor.send("PATCH", f"/nodes/{key}", {"title": "x"}, If_Match=etag.strip('"')), "with its quotes"),
        (editor.send("PATCH", f"/nodes/{key}", {"title": "x"}), "Send the ETag of the version that you read"),
        (editor.send("DELETE", f"/nodes/{key}"), "This URL supports GET, HEAD, PATCH."),
        (editor.get("/nodes/"), "Remove the slash at the end."),
        (editor.get("/tree", Authorization="Token x"), "`Authorization: Bearer mrg_…`"),
    ]
    for answer, sentence in wanted:
        said = json.loads(answer.content)
        told = [said["detail"], *(one["message"] for one in said.get("errors", ()))]
        assert answer.status_code >= 400, sentence
        assert any(sentence in one for one in told), (sentence, told)


def test_drafts_are_changed_scheduled_published_and_discarded(editor, author, account, blog, mongo):
    key, etag = made(author, blog)
    etag = editor.send("POST", f"/nodes/{key}/publish", If_Match=etag)["ETag"]
    assert author.send("PATCH", f"/nodes/{key}", {"title": "Live"}, If_Match=etag).status_code == 403

    def draft():
        return mongo["cms.nodes"].find_one({"_id": ObjectId(key)}).get("draft")

    answer = author.send("PATCH", f"/nodes/{key}?version=draft", {"title": "Drafted"}, If_Match=etag)
    assert (answer.status_code, json.loads(answer.content)["title"]) == (200, "Drafted")
    assert (draft()["metadata"]["title"], document(key)["title"]) == ("Drafted", "Post")
    assert author.send("PATCH", f"/nodes/{key}?version=draft", {"title": "x"}, If_Match=etag).status_code == 412
    moved = author.send("PATCH", f"/nodes/{key}?version=draft", {"slug": "x"}, If_Match=answer["ETag"])
    assert moved.status_code == 422
    at = f"/nodes/{key}/schedule?version=draft"
    assert author.send("POST", at, {"at": FUTURE.isoformat()}, If_Match=answer["ETag"]).status_code == 403
    for _again in range(2):
        due = editor.send("POST", at, {"at": FUTURE.isoformat()}, If_Match=answer["ETag"])
        assert (due.status_code, draft()["due"]) == (200, FUTURE)
    for _again in range(2):
        assert editor.send("POST", f"/nodes/{key}/unschedule", If_Match=due["ETag"]).status_code == 200
        assert draft().get("due") is None
    for _again in range(2):
        out = editor.send("POST", f"/nodes/{key}/publish?version=draft", If_Match=due["ETag"])
        assert (out.status_code, document(key)["title"], draft()) == (200, "Drafted", None)
    saved = drafts.save_draft(BOB, ObjectId(key), document(key)["nonce"], {"title": "Again"})
    assert editor.send("DELETE", f"/nodes/{key}/draft", If_Match=out["ETag"]).status_code == 412
    assert author.send("DELETE", f"/nodes/{key}/draft", If_Match=f'"{saved.nonce}"').status_code == 200
    assert (document(key)["title"], draft()) == ("Drafted", None)


def test_repeated_publish_of_a_merged_draft_is_done(editor, blog):
    key, etag = made(editor, blog, published="2021-01-01T00:00:00Z", summary="Short")
    texts = TEXT.replace("Paragraph 3.", "Theirs."), TEXT.replace("Paragraph 7.", "Mine.")
    for said in ({"detail": {"text": texts[1]}}, {"title": "Drafted"}):
        answer = editor.send("PATCH", f"/nodes/{key}?version=draft", said, If_Match=etag)
        etag = answer["ETag"]
    theirs = {"summary": "Theirs", "detail.text": texts[0], "slug": "theirs"}
    editing.save(BOB, ObjectId(key), document(key)["nonce"], theirs)

    def publish():
        return editor.send("POST", f"/nodes/{key}/publish?version=draft", If_Match=etag).status_code

    assert [publish(), publish()] == [200, 200]
    kept = document(key)
    assert (kept["title"], kept["summary"], kept["slug"]) == ("Drafted", "Theirs", "theirs")
    assert kept["detail"]["text"] == texts[0].replace("Paragraph 7.", "Mine.")
    # Readers no longer see everything that the draft changed.
    editing.save(BOB, ObjectId(key), kept["nonce"], {"title": "Other"})
    assert publish() == 412
    assert document(key)["title"] == "Other"


def test_discarded_draft_is_not_reported_as_published(editor, blog):
    key, etag = made(editor, blog, published="2021-01-01T00:00:00Z")
    etag = editor.send("PATCH", f"/nodes/{key}?version=draft", {"title": "Drafted"}, If_Match=etag)["ETag"]
    assert editor.send("DELETE", f"/nodes/{key}/draft", If_Match=etag).status_code == 200
    assert editor.send("POST", f"/nodes/{key}/publish?version=draft", If_Match=etag).status_code == 412
    assert document(key)["title"] == "Post"


def test_draft_of_a_public_page_refuses_a_future_date(editor, blog):
    key, etag = made(editor, blog, published="2021-01-01T00:00:00Z")
    answer = editor.send("PATCH", f"/nodes/{key}?version=draft", {"published": FUTURE.isoformat()}, If_Match=etag)
    assert answer.status_code == 422
    assert json.loads(answer.content)["errors"][0]["field"] == "body.published"


def test_draft_of_an_unpublished_page_accepts_a_future_date(editor, blog):
    key, etag = made(editor, blog, published=None)
    drafted = editor.send("PATCH", f"/nodes/{key}?version=draft", {"published": FUTURE.isoformat()}, If_Match=etag)
    assert drafted.status_code == 200, drafted.content
    answer = editor.send("POST", f"/nodes/{key}/publish?version=draft", If_Match=drafted["ETag"])
    assert answer.status_code == 200, answer.content
    assert document(key)["published"] == FUTURE


def test_draft_accepts_the_slug_and_section_of_the_page(editor, blog):
    key, etag = made(editor, blog, published="2021-01-01T00:00:00Z")
    place = {"slug": "post", "section": str(blog)}
    answer = editor.send("PATCH", f"/nodes/{key}?version=draft", {**place, "title": "New"}, If_Match=etag)
    assert (answer.status_code, json.loads(answer.content)["title"]) == (200, "New"), answer.content


def test_schedule_after_the_expiry_reports_its_time(editor, blog):
    expiring = {"expires": "2500-01-01T00:00:00Z"}
    hidden, etag = made(editor, blog, title="Hidden", **expiring)
    public, seen = made(editor, blog, title="Public", published="2021-01-01T00:00:00Z", **expiring)
    draft = editor.send("PATCH", f"/nodes/{public}?version=draft", {"title": "New"}, If_Match=seen)["ETag"]
    for path, version in ((f"{hidden}/schedule", etag), (f"{public}/schedule?version=draft", draft)):
        for at in (FUTURE.isoformat(), "2001-01-01T00:00:00Z", "9999-01-01T00:00:00Z"):
            answer = editor.send("POST", f"/nodes/{path}", {"at": at}, If_Match=version)
            told = json.loads(answer.content)
            assert (answer.status_code, [one["field"] for one in told["errors"]]) == (422, ["body.at"]), (path, at)
        answer = editor.send("POST", f"/nodes/{path}", {"at": "2400-01-01T00:00:00Z"}, If_Match=version)
        assert answer.status_code == 200, answer.content


def test_draft_without_a_date_is_published_at_any_live_date(editor, blog):
    key, etag = made(editor, blog, published=FUTURE.isoformat())
    drafted = editor.send("PATCH", f"/nodes/{key}?version=draft", {"title": "New"}, If_Match=etag)
    assert editor.send("POST", f"/nodes/{key}/publish", If_Match=etag).status_code == 200
    answer = editor.send("POST", f"/nodes/{key}/publish?version=draft", If_Match=drafted["ETag"])
    assert answer.status_code == 200, answer.content
    assert (document(key)["title"], document(key)["published"] < FUTURE) == ("New", True)


def test_authors_cannot_set_fields_of_editors(author, blog, mongo):
    for name, value in (
        ("published", "2021-01-01T00:00:00Z"),
        ("expires", None),
        ("author", {"name": "x"}),
        ("detail", {"comments": "open"}),
    ):
        said = {"type": "blog-entry", "section": str(blog), "title": "Post", name: value}
        answer = author.send("POST", "/nodes", said)
        assert answer.status_code == 403
        assert json.loads(answer.content)["errors"][0]["field"].startswith(f"body.{name}")
    assert author.send("POST", "/nodes", {"type": "blog", "title": "Section"}).status_code == 403
    assert mongo["cms.nodes"].count_documents({"metadata.type": "blog-entry"}) == 0


def test_author_cannot_change_a_node_published_since(author, blog):
    key, etag = made(author, blog)
    nonce = editing.save(BOB, ObjectId(key), document(key)["nonce"], {"published": now() - timedelta(days=1)}).nonce
    for method, path in (("PATCH", ""), ("POST", "/move"), ("POST", "/trash")):
        answer = author.send(method, f"/nodes/{key}{path}", {"slug": "mine"}, If_Match=f'"{nonce}"')
        assert answer.status_code == 403, path
    assert document(key)["slug"] == "post"


def test_photo_properties_are_changed_like_a_node(editor, author, mongo):
    gallery = photo_build.gallery("plates")
    key = photo_build.upload(gallery, pictures.jpeg(), fields={"published": None, "detail.alt": ""})

    def photo():
        return (mongo["cms.assets.files"].find_one({"_id": key}) or mongo["cms.trash"].find_one({"_id": key}))[
            "metadata"
        ]

    seen = photo()["nonce"]
    assert editor.send("POST", f"/nodes/{key}/publish", If_Match=f'"{seen}"').status_code == 422
    said = {"title": "Plate", "detail": {"alt": "A plate", "focal": [0.2, 0.4]}, "tags": ["one"]}
    changed = editor.send("PATCH", f"/nodes/{key}", said, If_Match=f'"{seen}"')
    assert changed.status_code == 200, changed.content
    kept = photo()
    assert (kept["title"], kept["detail"]["alt"], kept["detail"]["focal"], kept["tags"]) == (
        "Plate",
        "A plate",
        [0.2, 0.4],
        ["one"],
    )
    refused = editor.send("PATCH", f"/nodes/{key}", {"detail": {"crop": [2, 2, 2, 2]}}, If_Match=changed["ETag"])
    assert json.loads(refused.content)["errors"][0]["field"] == "body.detail.crop"
    assert editor.send("PATCH", f"/nodes/{key}", {"title": "x"}, If_Match=f'"{seen}"').status_code == 412
    assert (
        editor.send("PATCH", f"/nodes/{key}?version=draft", {"title": "x"}, If_Match=changed["ETag"]).status_code == 404
    )
    assert author.send("PATCH", f"/nodes/{key}", {"title": "x"}, If_Match=changed["ETag"]).status_code == 403
    assert editor.send("POST", f"/nodes/{key}/tags", {"add": ["two"]}).status_code == 200
    out = editor.send("POST", f"/nodes/{key}/publish", If_Match=changed["ETag"])
    assert (out.status_code, photo()["tags"]) == (200, ["one", "two"])
    assert photo()["published"] <= now()
    assert editor.send("POST", f"/nodes/{key}/trash", If_Match=out["ETag"]).status_code == 204
    assert mongo["cms.trash"].find_one({"_id": key}) is not None
    assert editor.send("POST", f"/nodes/{key}/restore", If_Match=out["ETag"]).status_code == 200
    assert mongo["cms.assets.files"].find_one({"_id": key}) is not None
