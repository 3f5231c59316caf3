"""What is known of authors never shows, can be handed out, and goes without a trace."""

import json
import re
from io import StringIO

import pytest
from bson import encode
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from comments import selectors, services
from mongo import queue as jobs
from tests.comments import site

pytestmark = pytest.mark.usefixtures("mongo")
NAME, EMAIL, TEXT = "Anneliese Quux", "anneliese@quux.example", "Xylophone"


@pytest.fixture(params=["documents", "embedded", "buckets"])
def seeded(request, client, rules, mongo):
    """A name, an address and a text in every collection that may hold one."""
    rules(DEFAULT={"SCHEMA": request.param}, MODERATORS=["mona@example.org"])
    target = site.entry()
    by = {"name": NAME, "email": EMAIL}
    site.post(client, target, f"{TEXT} one", notify="on", **by)
    first = list(selectors.iterate(target))[0]
    services.edit(target, first.slug, source=f"{TEXT} edited", rev=1, token="e")
    site.post(client, target, f"{TEXT} two", **by)
    gone = list(selectors.iterate(target))[1]
    services.remove(target, gone.slug)
    rules(MODE="hold-all")
    site.post(client, target, f"{TEXT} held", **by)
    rules(MODE="open")
    site.post(Client(), target, "An answer", parent=first.slug, name="Bob")
    return target


def traces(mongo, *words: str) -> dict[str, set[str]]:
    """Return which collections hold which words."""
    found: dict[str, set[str]] = {}
    for name in mongo.list_collection_names():
        for document in mongo[name].find():
            stored = encode(document).decode("utf-8", "replace")
            found.setdefault(name, set()).update(word for word in words if word in stored)
    return {name: words for name, words in found.items() if words}


def test_seed_is_where_it_may_be(seeded, mongo):
    found = traces(mongo, NAME, EMAIL, TEXT)
    assert {"comments.pending", "comments.history", "comments.subscriptions"} <= found.keys()
    assert found["comments.history"] == {NAME, EMAIL, TEXT}
    assert mongo["comments.addresses"].find_one()


def test_no_public_page_or_feed_has_an_address(client, seeded, mongo):
    first = list(selectors.iterate(seeded))[0]
    arguments = [seeded.label, seeded.pk]
    addresses = {document["address"] for document in mongo["comments.addresses"].find()}
    pages = [
        "/news/hello",
        *(reverse(f"comments-{name}", args=arguments) for name in ("discussion", "feed", "form")),
        *(reverse(f"comments-{name}", args=[*arguments, first.slug]) for name in ("thread", "flag")),
        *(f"/news/hello?comments={order}" for order in ("oldest", "newest", "threaded")),
    ]
    for url in pages:
        html = Client().get(url).content.decode()
        assert url.endswith(f"form/{seeded.label}/{seeded.pk}") or TEXT in html, url
        assert EMAIL not in html
        assert "quux.example" not in html
        assert not any(address in html for address in addresses)
        assert not re.search(r"127\.0\.0", html)


def test_erased_author_leaves_no_trace(seeded, mongo):
    out = StringIO()
    call_command("erase_author", "--email", EMAIL, stdout=out)
    assert traces(mongo, NAME, EMAIL, TEXT) == {}
    assert "3 comments" in out.getvalue() or "2 comments" in out.getvalue()
    assert [c.source for c in selectors.iterate(seeded) if not c.removed] == ["An answer"]
    for one in mongo["comments.addresses"].find():
        assert one["slug"] == list(selectors.iterate(seeded))[-1].slug


def test_dry_run_erases_nothing(seeded, mongo):
    before = traces(mongo, NAME, EMAIL, TEXT)
    out = StringIO()
    call_command("erase_author", "--email", EMAIL, "--dry-run", stdout=out)
    assert "Pretending to erase" in out.getvalue()
    assert traces(mongo, NAME, EMAIL, TEXT) == before


def test_export_hands_out_every_copy(seeded):
    out = StringIO()
    call_command("export_author", "--email", EMAIL, stdout=out, stderr=StringIO())
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    texts = {(row["kept_as"], row.get("text")) for row in rows}
    assert {("comment", f"{TEXT} edited"), ("history", f"{TEXT} one"), ("queue", f"{TEXT} held")} <= texts
    assert ("subscription", None) in texts
    assert "An answer" not in out.getvalue()


def test_account_is_meant_with_its_address(client, post_page, ann, mongo):
    client.force_login(ann)
    site.post(client, post_page, f"{TEXT} by account", notify="on")
    call_command("erase_author", "--user", "ann", stdout=StringIO())
    assert traces(mongo, TEXT) == {}
    assert mongo["comments.subscriptions"].count_documents({}) == 0


def test_erased_is_erased_also_before_its_mails_were_sent(seeded, mongo):
    call_command("erase_author", "--email", EMAIL, stdout=StringIO())
    while jobs.work():
        pass
    from django.core import mail

    assert not [message for message in mail.outbox if EMAIL in message.bcc or TEXT in message.body]


@pytest.mark.parametrize("arguments", [[], ["--user", "nobody"]])
def test_unclear_author_is_refused(mongo, arguments):
    with pytest.raises(CommandError):
        call_command("erase_author", *arguments)
