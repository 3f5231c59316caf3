"""The API guides: every curl command and Python example is executed on a served site."""

import argparse
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.wsgi import get_wsgi_application

from api.changes.relay import relay
from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing import build
from examples import mirror
from marginalia.mongo.clock import now
from nodes.services import editing
from tests.docs.pages import ROOT, blocks
from tests.support.nodes import photo_build, pictures

pytestmark = pytest.mark.slow

# Placeholders of the guides for the URL of a site, a section, a node in it, and its version.
GUIDE = "use-the-api.md"
SITE, SECTION = "https://example.org", "6565f1e2a3b4c5d6e7f80910"
MADE, ETAG = re.compile("6565f1e2a3b4c5d6e7f8091[12](?![.])"), '"6565f1e2a3b4c5d6e7f80912.9c2f04b1d3a7e655"'
CURL = argparse.ArgumentParser(exit_on_error=False)
CURL.add_argument("-i", action="store_true")
CURL.add_argument("-X", dest="method")
CURL.add_argument("-H", dest="headers", action="append", default=[])
CURL.add_argument("-d", dest="data")
CURL.add_argument("--data-binary", dest="data")
CURL.add_argument("--json")
CURL.add_argument("address")


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because the assertions of the test suffice."""


class Reader:
    """A reader who follows a guide: sends its commands, and replaces its examples with values from the responses."""

    def __init__(self, url: str, token: str, folder: Path) -> None:
        self.url, self.token, self.folder, self.made, self.etag = url, token, folder, "", ""

    def follow(self, *headings: str) -> list[tuple[str, int]]:
        """Send all curl commands below headings of the guide, in order. Return (method and path, status) of each."""
        return [
            self.send(command)
            for heading in headings
            for block in blocks(GUIDE, heading=heading)
            if block.language == "console"
            for command in block.typed()
        ]

    def send(self, command: str) -> tuple[str, int]:
        said = command.replace(SITE, self.url).replace("$TOKEN", self.token).replace("$(uuidgen)", str(uuid4()))
        said = MADE.sub(self.made, said.replace(ETAG, self.etag))
        # A shell would end the command at an unquoted "&".
        assert not {"&", ";", "|"} & set(shlex.shlex(said, posix=True, punctuation_chars=True)), command
        words = shlex.split(said)
        assert "$" not in said, command
        assert words[0] == "curl"
        told = CURL.parse_args(words[1:])
        data = told.json or told.data
        sent = (
            (self.folder / data[1:]).read_bytes() if data and data.startswith("@") else data.encode() if data else None
        )
        headers = dict(header.split(": ", 1) for header in told.headers)
        headers |= {"Content-Type": "application/json", "Accept": "application/json"} if told.json else {}
        method = told.method or ("GET" if sent is None else "POST")
        try:
            answer = urlopen(Request(told.address, sent, headers, method=method))
        except HTTPError as error:
            answer = error
        with answer:
            if told.i and method != "GET":
                self.etag = answer.headers.get("ETag", self.etag)
                self.made = answer.headers.get("Location", self.made).rpartition("/")[2]
        return f"{method} {told.address.removeprefix(self.url + '/api/v1')}".replace(
            self.made or "\0", "ID"
        ), answer.status


@pytest.fixture
def reader(mongo, tmp_path) -> Iterator[Reader]:
    editor = get_user_model()._default_manager.create_user("ed", "ed@example.org", "pw", is_staff=True)
    editor.groups.set(Group.objects.filter(name="Editors"))
    _token, secret = tokens.create(editor, "test", (Scope.READ, Scope.WRITE, Scope.PUBLISH))
    with make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Reader(f"http://127.0.0.1:{server.server_port}", secret, tmp_path)
        server.shutdown()
        thread.join()


@pytest.fixture
def essays(mongo) -> ObjectId:
    made = editing.create(
        build.EDITOR,
        type="blog",
        parent_id=None,
        slug="essays",
        title="Essays",
        fields={"published": build.PAST},
        node_id=ObjectId(SECTION),
    )
    return build.node("blog-entry", "on-lists", parent=made.id, title="On lists", tags=("ink",))


def python(heading: str, function: str) -> Any:
    """Return a Python function from below a heading of the guide."""
    names: dict[str, Any] = {}
    for block in blocks(GUIDE, heading=heading):
        if block.language == "python":
            exec(block.text, names)  # noqa: S102 - the document's own
    return names[function]


def test_guide_to_reading_works(reader, essays):
    assert reader.follow("Read public content", "Create a token") == [
        ("GET /nodes?limit=100&fields=path,title", 200),
        ("GET /nodes/by-path?path=/essays/on-lists&include=body_html", 200),
        ("GET /tree", 200),
        ("GET /tree", 200),
        ("GET /nodes?state=unpublished&fields=title,updated", 200),
    ]
    for number in range(3):
        build.node("blog-entry", f"more-{number}", parent=ObjectId(SECTION))
    posts = python("Read public content", "posts")
    found = [one["slug"] for one in posts(reader.url, section=SECTION, limit=3)]
    assert sorted(found) == ["more-0", "more-1", "more-2", "on-lists"]


def test_guide_to_writing_works(reader, essays, mongo):
    statuses = dict(reader.follow("Create a post", "Change a page", "Publish or schedule a page"))
    assert statuses == {
        "GET /tree": 200,
        "POST /nodes": 201,
        "PATCH /nodes/ID": 200,
        "POST /nodes/ID/publish": 200,
        # The previous command published it already, because the guide offers alternatives.
        "POST /nodes/ID/schedule": 422,
        "PATCH /nodes/ID?version=draft": 200,
        "POST /nodes/ID/publish?version=draft": 200,
    }
    key = ObjectId(reader.made)
    kept = build.stored(key)
    assert (kept["title"], kept["tags"], kept["parent_id"]) == ("On lists, again", ["craft"], ObjectId(SECTION))
    assert (kept["detail"]["text"], kept["published"] <= now()) == ("A list is *not* a table, and seldom a text.", True)
    seen, change = f'"{kept["nonce"]}"', python("Change a page", "change")
    editing.save(build.EDITOR, key, kept["nonce"], {"summary": "Theirs", "detail.text": "Theirs", "title": "Theirs"})
    asked = []

    def decide(one: dict[str, Any]) -> str:
        asked.append(one["field"])
        return f"{one['stored']} and {one['yours']}"

    said = {"summary": "Mine", "detail": {"text": "Mine", "seo_title": "Mine"}}
    answer = change(reader.url, reader.token, key, seen, said, decide)
    assert sorted(asked) == ["body.detail.text", "body.summary"]
    assert build.stored(key)["nonce"] == ObjectId(answer["nonce"])
    assert (answer["title"], answer["summary"]) == ("Theirs", "Theirs and Mine")
    assert (answer["detail"]["text"], answer["detail"]["seo_title"]) == ("Theirs and Mine", "Mine")


def test_guide_to_mirroring_works(reader, essays, monkeypatch):
    relay()
    [command] = [
        command
        for block in blocks(GUIDE, heading="Mirror a site")
        if block.language == "console"
        for command in block.typed()
    ]
    words = shlex.split(command.replace(SITE, reader.url).replace("folder", str(reader.folder)))
    assert words.pop(0) == "python"
    assert (ROOT / "examples" / words[0]).is_file()
    monkeypatch.setattr(sys, "argv", [*words, "--once"])
    mirror.main()
    named = re.findall(r"^\| `(.*?)` \|", (ROOT / "docs/how-to" / GUIDE).read_text(), re.MULTILINE)
    assert sorted(named) == ["nodes/ID.json", "site.json", "state.json"]
    for file in named:
        assert json.loads((reader.folder / file.replace("ID", str(essays))).read_text())


def test_examples_of_the_reference_work(reader, mongo):
    editing.create(
        build.EDITOR,
        type="gallery",
        parent_id=None,
        slug="plates",
        title="Plates",
        fields={"published": build.PAST},
        node_id=ObjectId(SECTION),
    )
    (reader.folder / "lake.jpg").write_bytes(pictures.jpeg())
    (reader.folder / "first-piece").write_bytes(bytes(8_388_608))
    page = str(build.node("basic-page", "about"))
    commands = [command for block in blocks("api.md", "reference") for command in block.typed()]
    sent = [reader.send(command.replace("/nodes/ID/", f"/nodes/{page}/")) for command in commands]
    assert [(path.partition("?")[0], status) for path, status in sent] == [
        ("GET /nodes", 200),
        ("POST /photos", 201),
        ("POST /photos/uploads", 201),
        ("PUT /photos/uploads/ID", 308),
        (f"POST /nodes/{page}/comments", 201),
    ]
    assert mongo["api.upload_parts"].count_documents({}) == 32
    assert photo_build.count()[0] == 1
