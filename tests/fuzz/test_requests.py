"""No request makes the site fail, wait, or query the database with operators from the request."""

import logging
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.test import Client
from hypothesis import HealthCheck, Phase, given, seed, settings

from cms.testing import build
from cms.testing.database import empty
from marginalia.comments.posting import services
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo.connection import database
from marginalia.tasks import worker
from reader.views import previews
from reader.views.previews import Preview
from tests.fuzz.requests import MARK, SCRIPT_NAME, Known, Sent, requests, routes
from tests.support.commands import CommandLog
from tests.support.nodes import photo_build

FIXED = 20_260_101
# Requests for a URL before the next one's turn.
FEW = 2
# Seconds.
LONGEST = 5
# Operators that no query of the site uses.
FOREIGN = {"$where", "$function", "$accumulator", "$out", "$merge", "$jsonSchema"}


class Fuzzed:
    """The site with content of every kind, and the results of the requests so far."""

    def __init__(self) -> None:
        self.routes = routes()
        self.statuses: Counter[int] = Counter()
        self.reached: set[str] = set()
        self.slowest = 0.0
        self.log = CommandLog()
        self.build()

    def build(self) -> None:
        empty(database())
        worker.follow()
        self._log_in()
        blog, gallery = build.node("blog", "news"), photo_build.gallery("gallery")
        nodes = [
            build.node("blog-entry", name, parent=blog, text=f"Text {name}", tags=("t",)) for name in ("one", "two")
        ]
        nodes += [
            build.node(slug="page"),
            build.node("folder", "folder"),
            build.node(slug="draft", published=None),
            blog,
        ]
        photo = photo_build.upload(gallery)
        content = photo_build.document(photo)["metadata"]["content_id"]
        target = Target("nodes.node", str(nodes[0]))
        posted = services.post(target, author=CommentAuthor("A"), source="Said", token="t" * 24).comment
        held = services.hold(target, author=CommentAuthor("B"), source="Held", token="u" * 24).held
        revision = database()["cms.revisions"].find_one({"node_id": nodes[0]})["_id"]
        ids = [str(one) for one in (*nodes, gallery, photo, content, revision, self.user.pk)]
        self.known = Known(
            {
                "objectid": ids,
                "nodepath": ["news", "news/one", "page", "gallery/lake", "folder", "draft"],
                "tag": ["t"],
                "slug": ["atom", "rss", "json", "sections", "photo", "blog-entry"],
                "int": ["1", "0", "9999999999999999999999"],
                "year": ["2020", "2999"],
                "month": ["01", "12"],
                "label": [
                    "nodes.node",
                    "nodes.photo",
                    "nodes.Node",
                    "nodes.sitesettings",
                    "auth.user",
                    "sessions.session",
                    "marginalia_comments.storedcomment",
                    "fuzz.fuzz",
                ],
                "commentkey": [*ids, "x"],
                "commentslug": [posted.slug, "a" * 16, "a" * 16 + "/" + "b" * 16],
                "path": ["editor/admin.css", "site/site.css"],
                "str": [
                    *ids,
                    held.id,
                    "original",
                    "w320.jpg",
                    "s160-50x50.webp",
                    previews.link(Preview(nodes[4], build.nonce(nodes[4])))[9:],
                ],
            },
            {
                "q",
                "from",
                "comments",
                "page",
                "next",
                "former",
                "download",
                "version",
                "old",
                "new",
                "fragment",
                "parent",
                "text",
            },
            [FormToken.new(target).signed(), "atom", "publish", "trash", "top", *ids],
        )
        self.known.learn("".join(self.admin.get(path).content.decode() for path in self.pages(nodes[0], photo)))

    def pages(self, node: Any, photo: Any) -> list[str]:
        pages = [
            f"/admin/nodes/node/{node}/{name}/"
            for name in ("change", "move", "duplicate", "history", "delete", "preview")
        ]
        pages += [
            "/admin/",
            "/admin/nodes/node/",
            "/admin/nodes/photo/",
            f"/admin/nodes/photo/{photo}/change/",
            "/log-in",
        ]
        pages += [
            "/admin/nodes/node/add/?type=blog-entry",
            "/admin/nodes/sitesettings/",
            "/admin/marginalia_comments/moderation/",
        ]
        pages += [
            "/admin/auth/user/",
            "/admin/auth/user/add/",
            f"/admin/auth/user/{self.user.pk}/change/",
            "/admin/auth/group/",
        ]
        return [*pages, f"/comments/form/nodes.node/{node}", "/search?q=text", "/admin/auth/group/add/"]

    def send(self, sent: Sent) -> None:
        """Send a request, and assert what must be true of every response."""
        client = self.admin if sent.is_admin else Client()
        for name, value in sent.cookies:
            if not (sent.is_admin and name == "sessionid"):
                client.cookies.load(f"{name}={value}")
        extra = {
            name if name == SCRIPT_NAME else f"HTTP_{name.upper().replace('-', '_')}": value
            for name, value in sent.headers
            if name != "Content-Type"
        }
        kind = next((value for name, value in sent.headers if name == "Content-Type"), sent.content_type)
        began = time.monotonic()
        with self.log.recorded():
            answer = client.generic(sent.method, sent.path, sent.body, kind or "application/octet-stream", **extra)
            if answer.streaming:
                b"".join(answer.streaming_content)
        took = time.monotonic() - began
        self.statuses[answer.status_code] += 1
        self.slowest = max(self.slowest, took)
        if match := answer.wsgi_request.resolver_match:
            self.reached.add(match.route)
        assert answer.status_code < 500, sent
        assert took < LONGEST, (took, sent)
        assert "X-Fuzz" not in answer.headers, sent
        for event in self.log.sent:
            assert (spelled := said_by_request(event.command)) == [], (spelled, sent)
        if sent.is_admin and ("sessionid" in answer.cookies or re.search("auth/user|password|log", sent.path)):
            self._still_there()
        elif sent.is_admin:
            self._only_own_cookies()

    def _only_own_cookies(self) -> None:
        for name in set(self.admin.cookies) - {"sessionid", "csrftoken"}:
            del self.admin.cookies[name]

    def _still_there(self) -> None:
        """Log in again if a request logged out, or changed or deleted the account."""
        self._only_own_cookies()
        if self.admin.get("/admin/jsi18n/").status_code != 200:
            self._log_in()

    def _log_in(self) -> None:
        self.user = get_user_model()._default_manager.create_superuser(f"chief{ObjectId()}", password="pw")
        self.admin = Client(raise_request_exception=True)
        self.admin.force_login(self.user)

    def told(self) -> str:
        counted = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        return f"{sum(self.statuses.values())} requests ({counted}), the slowest {self.slowest:.2f} s"


def said_by_request(value: Any, expression: bool = False) -> list[str]:
    """Return the names of fields and operators that a request made up, and its strings that are expressions."""
    if isinstance(value, list | tuple):
        return [found for one in value for found in said_by_request(one, expression)]
    if not isinstance(value, dict):
        is_path = expression and isinstance(value, str) and value.startswith("$") and MARK in value
        return [value] if is_path else []
    found = [name for name in value if MARK in name or name in FOREIGN]
    for name, inner in value.items():
        if name == "$literal" or name in ("lsid", "$clusterTime", "documents", "payload"):
            continue
        pipeline = name in ("pipeline", "$expr") or (name == "u" and isinstance(inner, list))
        within = False if name == "$match" else expression or pipeline
        found += said_by_request(inner, within)
    return found


@pytest.fixture(scope="module")
def fuzzed(django_db_setup, django_db_blocker) -> Iterator[Fuzzed]:
    logging.disable(logging.WARNING)
    with django_db_blocker.unblock():
        yield Fuzzed()
        empty(database())
    logging.disable(logging.NOTSET)


def run(fuzzed: Fuzzed, number: int, start: int) -> None:
    """Send the given number of requests, generated from a seed, equally many for each URL.

    They are sent a few at a time, because hypothesis derives later ones from earlier ones.
    """
    chosen = random.Random(start)
    order = chosen.sample(fuzzed.routes, len(fuzzed.routes))
    for begun in range(0, number, FEW):
        route = order[begun // FEW % len(order)]

        @seed(chosen.randrange(2**32))
        @settings(
            max_examples=FEW,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )
        @given(requests(fuzzed.known, route))
        def send(sent: Sent) -> None:
            fuzzed.send(sent)

        send()


# The same requests each time, and random ones in `make test-slow`, which prints the seed.
RUNS = [
    pytest.param(500, FIXED, id="fixed-500"),
    pytest.param(3_000, None, marks=pytest.mark.slow, id="random-3000"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "start"), RUNS)
def test_every_mutated_request_gets_a_response(fuzzed, number, start, capsys):
    chosen = random.SystemRandom().randrange(2**32) if start is None else start
    before = sum(fuzzed.statuses.values())
    with capsys.disabled():
        # Printed first, so that a run that hangs can be repeated.
        sys.stdout.write(f"\nfuzzing with seed {chosen}: ")
        sys.stdout.flush()
    run(fuzzed, number, chosen)
    with capsys.disabled():
        sys.stdout.write(fuzzed.told())
    assert sum(fuzzed.statuses.values()) - before >= number
    assert fuzzed.statuses[200] > number / 20, "requests get further than to a refusal"
    assert len(fuzzed.reached) > 0.8 * len(fuzzed.routes), "every address is asked for, a new one too"


def test_watch_sees_injected_operators():
    """The watch itself: what it must find, and what is no fault."""
    assert said_by_request({"find": "x", "filter": {"a": {"$fuzz": 1}}}) == ["$fuzz"]
    assert said_by_request({"find": "x", "filter": {"metadata.fuzz": 1}}) == ["metadata.fuzz"]
    assert said_by_request({"find": "x", "filter": {"$where": "1"}}) == ["$where"]
    assert said_by_request({"updates": [{"q": {}, "u": [{"$set": {"title": "$fuzz"}}]}]}) == ["$fuzz"]
    assert said_by_request({"find": "x", "filter": {"$expr": {"$eq": ["$a", "$fuzz"]}}}) == ["$fuzz"]
    assert said_by_request({"find": "x", "filter": {"title": "$fuzz"}}) == []
    assert said_by_request({"updates": [{"q": {}, "u": [{"$set": {"title": {"$literal": "$fuzz"}}}]}]}) == []
    assert said_by_request({"updates": [{"q": {}, "u": {"$set": {"title": "$fuzz"}}}]}) == []
