"""The payloads of tests/markup in every field, on every page, in a browser without the Content-Security-Policy.

Plain text must appear as that text. Cleaned HTML must not run anything, whatever users do on the page.
"""

import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import pytest
from bson import ObjectId
from django.conf import settings as django_settings
from django.core import mail
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import Page

from cms.testing import build
from cms.testing.database import empty
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo.connection import database
from marginalia.tasks import worker
from nodes.models import tree
from nodes.services import drafts, editing
from nodes.services.site import save_settings
from nodes.tags import has_no_address
from reader import page_cache
from tests.browser.poking import POKE
from tests.support import wxr
from tests.support.nodes import photo_build, pictures
from tests.support.payloads import ALL, as_received

# Payloads per page, a compromise between the length and the number of pages.
TOGETHER = 60
# One in so many posts is tested with its own page, comments and admin pages. The others are tested in lists.
OWN_PAGES = 15
QUICK = 20
# Nobody looks at these pages, so painting is off.
SMALL = {"width": 640, "height": 360}
# Requests to other sites go to a missing proxy. Intercepting each request would double the time and disable the cache.
NOWHERE = {"server": "http://127.0.0.1:9", "bypass": "127.0.0.1"}
# Everything that runs, or replaces the page, when the page requests it.
LOADED = {"script", "stylesheet", "document", "xhr", "fetch", "font", "websocket", "object", "other"}


def batches(payloads: list[str]) -> Iterator[list[str]]:
    rest = iter(payloads)
    while batch := [as_received(payload) for payload in islice(rest, TOGETHER)]:
        yield batch


def possible_tags(words: list[str]) -> list[str]:
    """Return the words that can be tags. A tag with "/../" in its URL is refused."""
    return [word for word in words if not has_no_address(word)]


class Typed:
    """A site with a payload in every field. `pages` lists all pages that show it."""

    def __init__(self, payloads: list[str], user: Any) -> None:
        page_cache.storage.clear()
        self.brought = 0
        self.payloads, self.words = payloads, [" ".join(payload.split())[:190] or "x" for payload in payloads]
        said = "\n\n".join(payloads)
        name, tagline = self.words[0][:100], self.words[1][:200]
        said_before = {"name": "Marginalia", "tagline": "", "posts_per_page": 10}
        save_settings({"name": name, "tagline": tagline, "posts_per_page": 100}, said_before)
        blog = build.node("blog", "news", title=self.words[2], summary=self.words[3], text=said)
        gallery = photo_build.gallery("gallery", title=self.words[4], summary=said[:900])
        self.public, self.staff = (
            ["/", "/news", "/gallery", "/news/archive", "/tag/common", "/media/find?camera=Nikon+Z+8"],
            [],
        )
        for number, word in enumerate(self.words):
            self._post(blog, number, word, user)
        photo = photo_build.upload(
            gallery,
            pictures.jpeg(description=self.words[5][:100].encode("ascii", "replace").decode()),
            f"{self.words[6][:60]}.jpg",
            fields={"title": self.words[7], "detail.alt": self.words[8], "summary": said[:900], "slug": "lake"},
            tags=tuple(possible_tags(self.words)),
        )
        database()["cms.assets.files"].update_one(
            {"_id": photo},
            {"$set": {"metadata.detail.exif": [{"n": n, "v": w} for n, w in zip(EXIF, self.words, strict=False)]}},
        )
        self.public += ["/gallery/lake", *(f"/media/find?camera={quote(word)}" for word in self.words[:1])]
        self.staff += [
            "/admin/",
            "/admin/nodes/node/",
            "/admin/nodes/photo/",
            "/admin/nodes/node/trash/",
            "/comments/mine",
        ]
        self.staff += [
            f"/admin/nodes/photo/{photo}/change/",
            "/admin/nodes/sitesettings/",
            "/admin/nodes/node/add/?type=blog-entry",
        ]
        self.staff += ["/admin/marginalia_comments/moderation/", "/admin/marginalia_comments/moderation/search"]
        self._typed_in_addresses()

    def _post(self, blog: ObjectId, number: int, word: str, user: Any) -> None:
        """Create a post, and comments on it, with a payload in every field."""
        payload = self.payloads[number]
        made = build.node(
            "blog-entry",
            f"p{number}",
            parent=blog,
            title=word,
            summary=payload,
            text=payload,
            tags=("common", *possible_tags([word])),
            author={"_id": user.pk, "name": word},
        )
        target = Target("nodes.node", str(made))
        author = CommentAuthor(
            word, str(user.pk), payload if payload.startswith("javascript") else 'https://example.org/"><script>'
        )
        posted = services.post(target, author=author, source=payload or "x", token=f"t{number}".ljust(24, "x")).comment
        if number % OWN_PAGES:
            return
        if not number:
            for other, text in enumerate(self.payloads[1:]):
                services.post(
                    target,
                    author=CommentAuthor(self.words[other]),
                    source=text or "x",
                    token=f"o{other}".ljust(24, "x"),
                )
        services.post(
            target, author=CommentAuthor(word), source=payload, token=f"r{number}".ljust(24, "x"), parent=posted.slug
        )
        services.hold(
            target, author=CommentAuthor(word), source=payload, token=f"h{number}".ljust(24, "x"), reasons=(word,)
        )
        page, slug = f"/admin/nodes/node/{made}", posted.slug
        old = database()["cms.nodes"].find_one({"_id": made})["metadata"]["nonce"]
        changed = editing.save(build.EDITOR, made, old, {"title": word[::-1], "detail.text": payload + "!"})
        drafts.save_draft(build.EDITOR, made, changed.nonce, {"title": word, "summary": payload})
        self.public += [
            f"/news/p{number}",
            f"/comments/on/{target.label}/{made}",
            f"/comments/thread/{target.label}/{made}/{slug}",
        ]
        self.public += [
            f"/comments/form/{target.label}/{made}?parent={slug}",
            f"/comments/flag/{target.label}/{made}/{slug}",
        ]
        self.staff += [f"{page}/change/", f"{page}/history/", f"{page}/delete/", f"{page}/preview/", f"{page}/publish/"]
        self.staff += [f"{page}/compare/?old={old}&new={changed.nonce}", f"{page}/history/{old}/"]
        self.staff += [f"/admin/marginalia_comments/moderation/comment/{target.label}/{made}/{slug}"]

    def imported(self, folder: Path) -> None:
        """Import an old site that consists of payloads."""
        items = []
        for number, (word, payload) in enumerate(zip(self.words[::10], self.payloads[::10], strict=True)):
            word, payload = (
                re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", " ", text) for text in (word, payload)
            )
            parts = (
                wxr.term(word, "category", f"c{number}"),
                wxr.term(word, "post_tag", f"t{number}"),
                wxr.meta("k", payload),
            )
            remark = wxr.comment(1_000 + number, payload, author=word, url="javascript:alert(1)")
            items.append(wxr.item(100 + number, word, payload, *parts, remark, excerpt=payload, creator="ada"))
        head = wxr.author("ada", self.words[0])
        file = folder / "export.xml"
        file.write_bytes(wxr.export(*items, head=head))
        call_command("import_wordpress", str(file), section="imported", stdout=io.StringIO())
        sections = tree.fresh()
        for found in database()["cms.nodes"].find({"metadata.created": {"$lt": datetime(2015, 1, 1, tzinfo=UTC)}}):
            path = sections.url(found["metadata"]["parent_id"], found["metadata"]["slug"])
            self.public += [path, f"/comments/on/nodes.node/{found['_id']}"]
            self.staff.append(f"/admin/nodes/node/{found['_id']}/change/")
            self.brought += 1

    def _typed_in_addresses(self) -> None:
        for word in self.words[::10]:
            coded = quote(word, safe="")
            self.public += [
                f"/search?q={coded}",
                f"/tag/{coded}",
                f"/{coded}",
                f"/log-in?next={coded}",
                f"/?from={coded}",
            ]
            self.staff += [f"/admin/nodes/node/?q={coded}&tag={coded}", f"/admin/nodes/photo/?q={coded}"]


EXIF = ("camera", "lens", "focal_length", "exposure", "aperture", "iso", "year")


@pytest.fixture
def watched(chromium, server, mongo, account) -> Iterator[Any]:
    """Create browser pages of a visitor or an administrator, without a policy. `hits` lists what ran."""
    hits: list[str] = []
    contexts = []

    def make(user: Any = None) -> Page:
        context = chromium.new_context(base_url=server, bypass_csp=True, viewport=SMALL, proxy=NOWHERE)
        contexts.append(context)
        if user is not None:
            client = Client()
            client.force_login(user)
            name = django_settings.SESSION_COOKIE_NAME
            context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": server}])
        page = context.new_page()

        def see(asked: Any) -> None:
            is_ours = asked.url.startswith((server, "data:", "blob:", "about:"))
            if not is_ours and asked.resource_type in LOADED:
                hits.append(f"{page.url} loads {asked.resource_type} {asked.url}")

        def answer(dialog: Any) -> None:
            # Clicks change the form with the settings, which asks before it is left.
            if dialog.type == "beforeunload":
                dialog.accept()
                return
            hits.append(f"{page.url}: {dialog.message}")
            dialog.dismiss()

        # On the context, so that opened windows are watched too.
        context.on("dialog", answer)
        context.on("request", see)
        return page

    make.hits = hits  # type: ignore[attr-defined]
    yield make
    for context in contexts:
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [len(ALL)])
def test_no_payload_runs_on_any_page(watched, account, mongo, number, server, tmp_path):
    chosen, seen = ALL[:: max(1, len(ALL) // number)][:number], 0
    for batch in batches(chosen):
        if len(batch) < 10:
            batch = [*batch, *ALL[:10]]
        chief = account("chief")
        typed = Typed(batch, chief)
        typed.imported(tmp_path)
        assert typed.brought >= 2
        stranger, admin = watched(), watched(chief)
        for both in zip_longest(typed.public, typed.staff):
            # One page loads while another one is checked.
            asked = [(page, path) for page, path in zip((stranger, admin), both, strict=True) if path is not None]
            for page, path in asked:
                page.goto(path, wait_until="commit")
            for page, path in asked:
                page.wait_for_load_state("load")
                left = page.evaluate(POKE)
                # The admin's own scripts set styles, for example of calendars.
                assert [name for name in left if page is stranger or name != "style"] == [], path
                assert urlsplit(page.url).netloc == urlsplit(server).netloc, path
                seen += 1
        assert watched.hits == []
        mails_carry_nothing(typed)
        stranger.context.close()
        admin.context.close()
        empty(mongo)
    assert seen > number


def mails_carry_nothing(typed: Typed) -> None:
    """Emails are plain text, each with one subject on one line."""
    mail.outbox.clear()
    while worker.work():
        pass
    for letter in mail.outbox:
        assert letter.content_subtype == "plain"
        assert "\n" not in letter.subject


@pytest.mark.parametrize("number", [QUICK, pytest.param(len(ALL), marks=pytest.mark.slow)])
def test_plain_text_is_escaped_also_in_feeds(mongo, account, client, number):
    """Without a browser: the source is escaped. In JSON Feed and XML, no payload can end its element."""
    chosen = ALL[:: max(1, len(ALL) // number)][:number]
    for batch in batches(chosen):
        if len(batch) < 10:
            batch = [*batch, *ALL[:10]]
        page_cache.storage.clear()
        user = account(f"chief{ObjectId()}")
        typed = Typed(batch, user)
        html = client.get("/").content.decode()
        for word in typed.words[-9:]:
            assert escape(word) in html, word
        for form in ("atom", "rss"):
            for path in (f"/feed/{form}", f"/tag/common/feed/{form}", f"/gallery/feed/{form}"):
                ElementTree.fromstring(client.get(path).content)
        items = json.loads(client.get("/feed/json").content)["items"]
        assert {item["title"] for item in items} & set(typed.words)
        empty(mongo)


def test_watch_sees_unescaped_payloads(watched, mongo):
    """The watch itself must detect payloads."""
    page = watched()
    page.goto("/")
    with page.expect_event("dialog"):
        page.set_content("<img src=x onerror=alert(1)>")
    load = "s => document.body.append(Object.assign(document.createElement('script'), {src: s}))"
    with page.expect_event("requestfailed"):
        page.evaluate(load, "https://evil.example/x.js")
    assert any("loads script" in hit for hit in watched.hits)
    assert any(hit.endswith(": 1") for hit in watched.hits)


def test_links_of_readers_are_nofollow_without_referrer(mongo, browsing, account):
    blog = build.node("blog", "news")
    target = Target("nodes.node", str(build.node("blog-entry", "hello", parent=blog)))
    text = "[a](https://example.org/a) https://example.org/b <a href='https://example.org/c' rel='opener' target=_blank>c</a>"
    services.post(target, author=CommentAuthor("Ann", url="https://example.org/d"), source=text, token="t" * 24)
    page = browsing()
    page.goto("/news/hello")
    links = page.locator("#comments a[href^='https://example.org/']")
    assert links.count() == 4
    for link in links.all():
        assert set(link.get_attribute("rel").split()) >= {"ugc", "nofollow", "noopener"}
        assert link.get_attribute("target") is None
