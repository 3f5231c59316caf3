"""Each comment system's export is read as it is documented, with its peculiarities."""

import gzip
import json
import sqlite3
import tracemalloc
from datetime import UTC, datetime

import pytest
from django.db.utils import ConnectionHandler

from marginalia.comments.imports.records import BrokenSource, SourceState, TextFormat
from marginalia.comments.imports.sources import FILES, django_comments

DISQUS = """<?xml version="1.0" encoding="utf-8"?>
<disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals">
  <category dsq:id="1"><forum>old</forum><title>General</title></category>
  <thread dsq:id="10">
    <id>/about</id><forum>old</forum><link>https://old.example/about/</link><title>About</title>
    <createdAt>2019-01-01T10:00:00Z</createdAt><isDeleted>false</isDeleted>
  </thread>
  <post dsq:id="100">
    <id/><message><![CDATA[<p>Hello <b>there</b></p>]]></message><createdAt>2019-01-02T10:00:00Z</createdAt>
    <isDeleted>false</isDeleted><isSpam>false</isSpam>
    <author><name>Ann</name><isAnonymous>false</isAnonymous><username>ann</username></author><thread dsq:id="10"/>
  </post>
  <post dsq:id="101">
    <message><![CDATA[<p>Gone</p>]]></message><createdAt>2019-01-03T10:00:00Z</createdAt>
    <isDeleted>true</isDeleted><isSpam>false</isSpam>
    <author><name/><username>bea</username></author><thread dsq:id="10"/><parent dsq:id="100"/>
  </post>
  <post dsq:id="102">
    <message><![CDATA[<p>Buy</p>]]></message><createdAt>2019-01-04T10:00:00Z</createdAt>
    <isDeleted>false</isDeleted><isSpam>true</isSpam><author><name>Spammer</name></author><thread dsq:id="99"/>
  </post>
</disqus>
"""


def read(system, path, content):
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, encoding="utf-8")
    return list(FILES[system](path))


@pytest.mark.parametrize("packed", [False, True])
def test_disqus(tmp_path, packed):
    data = DISQUS.encode()
    first, second, third = read("disqus", tmp_path / "export.xml", gzip.compress(data) if packed else data)
    assert (first.id, first.address, first.name, first.text) == (
        "100",
        "https://old.example/about/",
        "Ann",
        "<p>Hello <b>there</b></p>",
    )
    assert (first.format, first.anchor, first.state) == (TextFormat.HTML, "comment-100", SourceState.PUBLIC)
    assert first.posted == datetime(2019, 1, 2, 10, tzinfo=UTC)
    assert (second.parent, second.name, second.state) == ("100", "bea", SourceState.REMOVED)
    assert (third.address, third.state) == ("thread 99", SourceState.SPAM)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "broken"),
        ("<rss/>", "isn't an export of Disqus"),
        (DISQUS[:600], "broken"),
        ('<!DOCTYPE x [<!ENTITY a "b">]>' + DISQUS.partition("?>")[2].strip(), "document type"),
        (DISQUS.replace("2019-01-02T10", "yesterday"), "is not a time"),
        (b"\x1f\x8bbroken", "can't be read"),
    ],
)
def test_broken_disqus_export_is_refused(tmp_path, content, reason):
    with pytest.raises(BrokenSource, match=reason):
        read("disqus", tmp_path / "export.xml", content)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    "element",
    ['<post dsq:id="1"><message>' + "x" * 3_000_000, "<a>" * 1_000_000, f'<post dsq:id="{"1" * 3_000_000}"/>'],
    ids=["text", "levels", "attribute"],
)
def test_long_xml_elements_are_refused(tmp_path, element):
    with pytest.raises(BrokenSource, match="An XML element is too long"):
        read("disqus", tmp_path / "export.xml", DISQUS.partition("<category")[0] + element)


@pytest.mark.slow
def test_memory_does_not_grow_with_xml_elements_without_comments(tmp_path):
    path = tmp_path / "export.xml"
    start = DISQUS.partition("<category")[0].encode()
    path.write_bytes(gzip.compress(start + b"<category/>" * 200_000 + b"</disqus>"))
    tracemalloc.start()
    try:
        assert list(FILES["disqus"](path)) == []
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def isso_database(path):
    with sqlite3.connect(path) as database:
        database.executescript(
            """
            CREATE TABLE threads (id INTEGER PRIMARY KEY, uri VARCHAR(256) UNIQUE, title VARCHAR(256));
            CREATE TABLE comments (
                tid REFERENCES threads(id), id INTEGER PRIMARY KEY, parent INTEGER, created FLOAT NOT NULL,
                modified FLOAT, mode INTEGER, remote_addr VARCHAR, text VARCHAR, author VARCHAR, email VARCHAR,
                website VARCHAR, likes INTEGER DEFAULT 0, dislikes INTEGER DEFAULT 0, voters BLOB NOT NULL,
                notification INTEGER DEFAULT 0);
            INSERT INTO threads VALUES (1, '/about/', 'About');
            INSERT INTO comments VALUES
                (1, 7, NULL, 1546423200.5, NULL, 1, '127.0.0.0', 'Hello *there*', 'Ann', 'a@b.c', 'https://a.example',
                 3, 1, '', 0),
                (1, 8, 7, 1546423300, NULL, 2, '127.0.0.0', 'Waits', NULL, NULL, NULL, 0, 0, '', 0),
                (1, 9, 7, 1546423400, NULL, 4, '127.0.0.0', '', NULL, NULL, NULL, 0, 0, '', 0);
            """
        )
        broken = (
            "INSERT INTO comments VALUES (1, 10, 7, 1546423500, NULL, 1, '', CAST(? AS TEXT), 'B', '', '', 0, 0, '', 0)"
        )
        database.execute(broken, (b"caf\xe9",))
    return path


def test_isso(tmp_path):
    first, second, third, fourth = FILES["isso"](isso_database(tmp_path / "comments.db"))
    assert (first.id, first.address, first.text, first.likes, first.dislikes) == ("7", "/about/", "Hello *there*", 3, 1)
    assert (first.email, first.website, first.anchor) == ("a@b.c", "https://a.example", "isso-7")
    assert first.posted.isoformat() == "2019-01-02T10:00:00.500000+00:00"
    assert (second.parent, second.name, second.state) == ("7", "", SourceState.PENDING)
    assert third.state == SourceState.REMOVED
    assert fourth.text == "caf\ufffd"


def test_file_that_is_no_isso_database_is_refused(tmp_path):
    with pytest.raises(BrokenSource, match="isn't a database of Isso"):
        read("isso", tmp_path / "x.db", "no database")
    with pytest.raises(BrokenSource, match="doesn't exist"):
        list(FILES["isso"](tmp_path / "missing.db"))


@pytest.mark.parametrize("system", sorted(FILES))
def test_paths_that_are_no_files_are_refused(tmp_path, system):
    (tmp_path / "link").symlink_to(tmp_path / "link")
    for name in ("missing", "link", "."):
        with pytest.raises(BrokenSource, match="can't be read|doesn't exist"):
            list(FILES[system](tmp_path / name))


@pytest.mark.parametrize("system", ["json-lines", "remark42"])
def test_million_empty_lines_are_no_comments(tmp_path, system):
    assert read(system, tmp_path / "lines", "\n" * 1_000_000) == []


def test_remark42(tmp_path):
    user = {"name": "Ann", "id": "github_1", "picture": "", "ip": "x", "admin": False}
    place = {"site": "old", "url": "https://old.example/about"}
    time = "2019-01-02T10:00:00.5+01:00"
    lines = [
        {"version": 1, "users": [], "posts": []},
        {"id": "a", "pid": "", "text": "<p>Hi</p>", "orig": "Hi", "user": user, "locator": place, "time": time,
         "votes": {"x": True, "y": False, "z": True}},
        {"id": "b", "pid": "a", "text": "<p>Old <b>one</b></p>", "user": user, "locator": place, "time": time,
         "votes": None},
        {"id": "c", "pid": "a", "text": "", "user": user, "locator": place, "time": time, "delete": True},
    ]  # fmt: skip
    content = "\n".join(map(json.dumps, lines)).encode()
    first, second, third = read("remark42", tmp_path / "backup.gz", gzip.compress(content))
    assert (first.text, first.format, first.likes, first.dislikes) == ("Hi", TextFormat.MARKDOWN, 2, 1)
    assert (first.address, first.anchor) == ("https://old.example/about", "remark42__comment-a")
    assert first.posted == datetime(2019, 1, 2, 9, 0, 0, 500_000, tzinfo=UTC)
    assert (second.parent, second.format) == ("a", TextFormat.HTML)
    assert third.state == SourceState.REMOVED


def test_commento(tmp_path):
    time = "2019-01-02T10:00:00Z"
    export = {
        "version": 1,
        "comments": [
            {"commentHex": "a", "domain": "old.example", "path": "/about", "commenterHex": "x", "markdown": "Hi",
             "html": "<p>Hi</p>", "parentHex": "root", "score": -2, "state": "approved", "creationDate": time},
            {"commentHex": "b", "domain": "old.example", "path": "/about", "commenterHex": "anonymous",
             "html": "<p>Hi</p>", "parentHex": "a", "state": "unapproved", "creationDate": time},
            {"commentHex": "c", "domain": "old.example", "path": "/about", "commenterHex": "x", "markdown": "",
             "parentHex": "a", "state": "approved", "creationDate": time, "deleted": True},
        ],
        "commenters": [{"commenterHex": "x", "email": "undefined", "name": "Ann", "link": "https://a.example"}],
    }  # fmt: skip
    first, second, third = read("commento", tmp_path / "x.json", json.dumps(export))
    assert (first.address, first.name, first.email, first.dislikes) == ("https://old.example/about", "Ann", "", 2)
    assert (first.parent, first.anchor, second.parent) == ("", "commento-a", "a")
    assert (second.format, second.state, third.state) == (TextFormat.HTML, SourceState.PENDING, SourceState.REMOVED)


def test_comentario(tmp_path):
    base = {"pageId": "p", "userCreated": "u", "createdTime": "2019-01-02T10:00:00Z", "markdown": "Hi"}
    export = {
        "version": 3,
        "pages": [{"id": "p", "path": "/about"}],
        "comments": [
            {"id": "a", "isApproved": True, **base},
            {"id": "b", "parentId": "a", "isPending": True, **base},
            {"id": "c", "isApproved": False, "authorName": "Bea", **base},
        ],
        "commenters": [{"id": "u", "email": "ann@example.org", "name": "Ann"}],
    }
    first, second, third = read("comentario", tmp_path / "x.json", "\ufeff" + json.dumps(export))
    assert (first.address, first.name, first.email, first.state) == (
        "/about",
        "Ann",
        "ann@example.org",
        SourceState.PUBLIC,
    )
    assert (second.parent, second.state) == ("a", SourceState.PENDING)
    assert (third.name, third.state) == ("Bea", SourceState.SPAM)


@pytest.mark.parametrize("value", [[], {}, [1], None, 1.5], ids=repr)
def test_keys_of_any_type_are_read(tmp_path, value):
    time = "2019-01-02T10:00:00Z"
    old = {
        "comments": [{"commentHex": value, "commenterHex": value, "parentHex": value, "creationDate": time}],
        "commenters": [{"commenterHex": value, "name": "Ann"}],
    }
    new = {
        "comments": [{"id": value, "pageId": value, "userCreated": value, "parentId": value, "createdTime": time}],
        "commenters": [{"id": value, "name": "Ann"}],
        "pages": [{"id": value, "path": "/about"}],
    }
    (first,) = read("commento", tmp_path / "old.json", json.dumps(old))
    (second,) = read("comentario", tmp_path / "new.json", json.dumps(new))
    assert (first.name, second.name, second.address) == ("Ann", "Ann", "/about")


@pytest.mark.parametrize(
    ("system", "content", "reason"),
    [
        ("commento", "[]", "isn't an export"),
        ("commento", "{", "isn't valid JSON"),
        ("commento", '{"comments": [1]}', "isn't a list of objects"),
        ("remark42", "[1]", "Line 1 isn't a JSON object"),
        ("json-lines", '{"id": 1}', "Line 1 has no “url”"),
        ("json-lines", '{"id": "", "url": "/", "posted": 0, "text": ""}', "Line 1 has an empty “id”"),
        ("json-lines", '{"id": null, "url": "/", "posted": 0, "text": ""}', "Line 1 has an empty “id”"),
        ("json-lines", '{"id": 1, "url": "/", "posted": "x", "text": ""}', "is not a time"),
        ("json-lines", '{"id": 1, "url": "/", "posted": "0001-01-01T00:00+14:00", "text": ""}', "is not a time"),
        ("json-lines", '{"id": 1, "url": "/", "posted": 1e300, "text": ""}', "is not a time"),
        ("json-lines", '{"id": 1, "url": "/", "posted": 0, "text": "", "state": "odd"}', "Line 1: 'odd'"),
        ("json-lines", '{"id": 1, "url": "/", "posted": 0, "text": "", "state": []}', "Line 1: \\[\\]"),
        ("json-lines", '{"id": 1, "url": "/", "posted": 0, "text": "", "format": {}}', "Line 1: {}"),
        ("json-lines", "[" * 100_000, "Line 1 isn't valid JSON"),
    ],
)
def test_broken_json_is_refused(tmp_path, system, content, reason):
    with pytest.raises(BrokenSource, match=reason):
        read(system, tmp_path / "x.json", content)


class TestTables:
    """The tables of Django's comments apps."""

    @pytest.fixture
    def old(self, mongo, tmp_path, monkeypatch):
        databases = {"old": {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path / "old.sqlite"}}
        databases["default"] = databases["old"]
        handler = ConnectionHandler(databases)
        monkeypatch.setattr(django_comments, "connections", handler)
        with sqlite3.connect(tmp_path / "old.sqlite") as database:
            yield database
        handler.close_all()

    @pytest.fixture
    def tables(self, old):
        old.executescript(
            """
            CREATE TABLE django_content_type (id INTEGER PRIMARY KEY, app_label TEXT, model TEXT);
            CREATE TABLE django_comments (
                id INTEGER PRIMARY KEY, object_pk TEXT, user_name TEXT, user_email TEXT, user_url TEXT, comment TEXT,
                submit_date TEXT, ip_address TEXT, is_public BOOL, is_removed BOOL, content_type_id INTEGER,
                site_id INTEGER, user_id INTEGER);
            CREATE TABLE django_comment_flags (
                id INTEGER PRIMARY KEY, flag TEXT, flag_date TEXT, comment_id INTEGER, user_id INTEGER);
            CREATE TABLE django_comments_xtd_xtdcomment (
                comment_ptr_id INTEGER PRIMARY KEY, thread_id INTEGER, parent_id INTEGER, level INTEGER);
            INSERT INTO django_content_type VALUES (3, 'blog', 'post');
            INSERT INTO django_comments VALUES
                (1, '5', 'Ann', 'a@b.c', 'https://a.example', '1 < 2 *', '2019-01-02 10:00:00', '', 1, 0, 3, 1, NULL),
                (2, '5', '', '', '', 'Waits', '2019-01-02 10:00:01', '', 0, 0, 3, 1, NULL),
                (3, '5', '', '', '', 'Gone', '2019-01-02 10:00:02', '', 1, 1, 3, 1, 9);
            INSERT INTO django_comment_flags VALUES
                (1, 'I liked it', '', 1, 1), (2, 'I liked it', '', 1, 2), (3, 'I disliked it', '', 1, 3),
                (4, 'removal suggestion', '', 1, 4);
            INSERT INTO django_comments_xtd_xtdcomment VALUES (1, 1, 1, 0), (2, 1, 1, 1), (3, 1, 2, 2);
            """
        )
        old.commit()

    def test_threads_are_read(self, tables):
        first, second, third = django_comments.read_xtd("old")
        assert (first.address, first.name, first.email, first.website) == (
            "blog.post:5",
            "Ann",
            "a@b.c",
            "https://a.example",
        )
        assert (first.text, first.format, first.anchor) == ("1 < 2 *", TextFormat.PLAIN, "c1")
        assert first.posted == datetime(2019, 1, 2, 10, tzinfo=UTC)
        assert (first.likes, first.dislikes, second.likes) == (2, 1, 0)
        assert [one.parent for one in (first, second, third)] == ["", "1", "2"]
        assert [one.state for one in (first, second, third)] == [
            SourceState.PUBLIC,
            SourceState.PENDING,
            SourceState.REMOVED,
        ]

    def test_accounts_are_kept_if_they_are_in_the_same_database(self, tables, monkeypatch):
        assert [one.account for one in django_comments.read_xtd("old")] == ["", "", ""]
        monkeypatch.setattr(django_comments.router, "db_for_read", lambda model: "old")
        assert [one.account for one in django_comments.read_xtd("old")] == ["", "", "9"]

    def test_markdown_comments_are_marked(self, tables, old):
        old.execute("UPDATE django_comments SET comment = '#!markdown\r\n*Hi*' WHERE id = 1")
        old.commit()
        first = next(django_comments.read_xtd("old"))
        assert (first.text, first.format) == ("*Hi*", TextFormat.MARKDOWN)

    def test_plain_comments_have_no_parents(self, tables):
        assert [one.parent for one in django_comments.read("old")] == ["", "", ""]

    def test_missing_tables_are_reported(self, old):
        with pytest.raises(BrokenSource, match="no such table"):
            list(django_comments.read("old"))

    def test_other_databases_are_reported(self):
        with pytest.raises(BrokenSource, match="isn't an SQL database"):
            list(django_comments.read("default"))
        with pytest.raises(BrokenSource, match="nowhere"):
            list(django_comments.read("nowhere"))
