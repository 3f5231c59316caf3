"""Personal data of authors is never shown, can be exported, and is erased completely."""

import json
import re
from datetime import timedelta
from html import unescape
from io import StringIO

import pytest
from bson import encode
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from marginalia.comments.moderation import bans, batches
from marginalia.comments.operations import maintenance
from marginalia.comments.posting import ip_hash, services
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.mongo.clock import now
from marginalia.tasks import worker
from tests.support.comments import site

pytestmark = pytest.mark.usefixtures("mongo")
NAME, EMAIL, TEXT = "Anneliese Quux", "anneliese@quux.example", "Xylophone"
# Collections store only a keyed hash of this.
ADDRESS = "203.0.113.77"


@pytest.fixture
def client() -> Client:
    """The author's browser."""
    return Client(REMOTE_ADDR=ADDRESS)


@pytest.fixture
def network(rf) -> str:
    """The key of the author's network address."""
    return ip_hash.key(rf.get("/", REMOTE_ADDR=ADDRESS))


@pytest.fixture(params=["documents", "embedded", "buckets"])
def seeded(request, client, rules, mongo):
    """A name, an address and a text in every collection that can contain one."""
    rules(DEFAULT={"LAYOUT": request.param}, MODERATORS=["mona@example.org"])
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
    answer = list(selectors.iterate(target))[-1]
    client.post(reverse("comments-flag", args=[target.label, target.pk, answer.slug]))
    return target


PLACE = {"documents": "comments", "embedded": "cms.nodes", "buckets": "comment_pages"}


def traces(mongo, *words: str) -> dict[str, set[str]]:
    """Return the collections that contain each of the words, in any case."""
    found: dict[str, set[str]] = {}
    for name in mongo.list_collection_names():
        for document in mongo[name].find():
            stored = encode(document).decode("utf-8", "replace").casefold()
            found.setdefault(name, set()).update(word for word in words if word.casefold() in stored)
    return {name: words for name, words in found.items() if words}


@pytest.mark.slow_after(1)
def test_traces_are_found_before_the_erasure(seeded, mongo, network):
    """This makes sure that the searches after an erasure can find something."""
    found = traces(mongo, NAME, EMAIL, TEXT, network)
    said = {NAME, EMAIL, TEXT}
    assert found == {
        PLACE[selectors.discussion(seeded).layout]: said,
        "comments.pending": said,
        "comments.history": said,
        "comments.catalogue": said,
        "comments.subscriptions": {EMAIL},
        "comments.ip_hashes": {network},
        "comments.flags": {network},
        "rate_limits": {network},
    }
    assert mongo.jobs.count_documents({}) == 2
    assert traces(mongo, ADDRESS) == {}


@pytest.mark.slow_after(1)
def test_no_public_page_or_feed_contains_an_email(seeded, network):
    first = list(selectors.iterate(seeded))[0]
    arguments = [seeded.label, seeded.pk]
    pages = [
        "/news/hello",
        *(reverse(f"comments-{name}", args=arguments) for name in ("discussion", "feed", "form")),
        *(reverse(f"comments-{name}", args=[*arguments, first.slug]) for name in ("thread", "flag", "comment-done")),
        f"{reverse('comments-form', args=arguments)}?parent={first.slug}",
        *(f"/news/hello?comments={order}" for order in ("oldest", "newest", "threaded")),
    ]
    for url in pages:
        html = Client().get(url).content.decode()
        assert url.endswith(f"form/{seeded.label}/{seeded.pk}") or TEXT in html, url
        for secret in (EMAIL, "quux.example", network, ADDRESS, "203.0.113"):
            assert secret not in html, (url, secret)


@pytest.mark.slow_after(1)
def test_no_page_reachable_from_the_front_contains_an_email(seeded, network):
    """All URLs reachable from the front page without logging in."""
    waiting, seen = ["/"], set()
    while waiting:
        url = waiting.pop()
        seen.add(url)
        response = Client().get(url)
        html = b"".join(response) if response.streaming else response.content
        for secret in (EMAIL, "quux.example", network, ADDRESS):
            assert secret.encode() not in html, (url, secret)
        if response.get("Content-Type", "").startswith("text/html"):
            links = {link.partition("#")[0] for link in re.findall(r'(?:href|src)="(/[^"]*)"', html.decode())}
            waiting += {unescape(link) for link in links} - seen - set(waiting)
    assert len(seen) > 20
    assert any("/feed" in url for url in seen)


def end_of_erasures(mongo):
    """Move the time beyond all writers that started before an erasure, and let a worker sweep."""
    mongo["comments.erasures"].update_many({}, {"$set": {"at": now() - timedelta(minutes=3)}})
    assert maintenance.sweep_erasures() == 0


@pytest.mark.slow_after(1)
def test_erased_author_leaves_no_trace(seeded, mongo, network):
    out = StringIO()
    call_command("erase_author", "--email", EMAIL, stdout=out)
    end_of_erasures(mongo)
    assert traces(mongo, NAME, EMAIL, TEXT, network) == {}
    assert out.getvalue() == "Erased 2 comments, 3 network addresses, 1 names on flags, 0 likes and 1 subscriptions.\n"
    assert [c.source for c in selectors.iterate(seeded) if not c.removed] == ["An answer"]
    for one in mongo["comments.ip_hashes"].find():
        assert one["slug"] == list(selectors.iterate(seeded))[-1].slug


def test_address_is_matched_without_case(client, post_page, mongo):
    """The site and the command can get the address with different capitals."""
    site.post(client, post_page, f"{TEXT} one", name=NAME, email="Anneliese@QUUX.example", notify="on")
    call_command("erase_author", "--email", "anneLiese@quux.Example", stdout=StringIO())
    assert [comment.source for comment in selectors.iterate(post_page)] == [""]
    assert mongo["comments.subscriptions"].count_documents({}) == 0


@pytest.mark.slow_after(1)
def test_dry_run_erases_nothing(seeded, mongo):
    before = traces(mongo, NAME, EMAIL, TEXT)
    out = StringIO()
    call_command("erase_author", "--email", EMAIL, "--dry-run", stdout=out)
    assert "Dry run: would erase" in out.getvalue()
    assert traces(mongo, NAME, EMAIL, TEXT) == before


@pytest.mark.slow_after(2)
def test_export_contains_every_copy(seeded, network):
    out = StringIO()
    call_command("export_author", "--email", EMAIL, stdout=out, stderr=StringIO())
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    texts = {(row["kept_as"], row.get("text")) for row in rows}
    assert {("comment", f"{TEXT} edited"), ("history", f"{TEXT} one"), ("queue", f"{TEXT} held")} <= texts
    assert ("subscription", None) in texts
    hashes = {row["hash"] for row in rows if row["kept_as"] == "network address"}
    assert hashes == {network}
    assert "An answer" not in out.getvalue()


def test_bans_and_decisions_about_a_person_are_exported_and_erased(client, post_page, ann, moderator, rf, mongo):
    """Bans of networks and domains don't identify a person, so they stay."""
    client.force_login(ann)
    site.post(client, post_page, f"{TEXT} by account")
    request = rf.get("/")
    request.user = moderator
    sender = Sender(request, ())
    terms = [
        bans.parse(kind, value) for kind, value in (("account", "ann"), ("email", ann.email), ("link", "a.example"))
    ]
    for term in terms:
        bans.ban(sender, term, reason="Spam")
    batches.hide(sender, batches.of_term(terms[0]), what=str(terms[0]))
    out = StringIO()
    call_command("export_author", "--user", "ann", stdout=out, stderr=StringIO())
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {row["banned"] for row in rows if row["kept_as"] == "ban"} == {str(ann.pk), ann.email}
    assert {row["kept_as"] for row in rows if row.get("text")} == {"history"}
    call_command("erase_author", "--user", "ann", stdout=StringIO())
    assert [ban.value for ban in bans.find(limit=9)] == ["a.example"]
    assert [batch.what for batch in batches.find(limit=9)] == [""]
    assert traces(mongo, TEXT, f"account:{ann.pk}") == {}


def test_likes_of_an_account_are_exported_and_erased(client, post_page, ann, rules, mongo):
    rules(LIKES=True)
    comment = site.post_directly(post_page, "Answer")
    client.force_login(ann)
    for reader in (client, Client()):
        reader.post(site.change_url("like", comment), {"liked": "1"})
    out = StringIO()
    call_command("export_author", "--user", "ann", stdout=out, stderr=StringIO())
    assert [json.loads(line)["slug"] for line in out.getvalue().splitlines() if '"like"' in line] == [comment.slug]
    assert selectors.likes(post_page) == {comment.slug: 2}
    call_command("erase_author", "--user", "ann", stdout=StringIO())
    assert selectors.likes(post_page) == {comment.slug: 1}
    assert traces(mongo, f"user:{ann.pk}") == {}


def test_erasing_an_account_includes_its_email(client, post_page, ann, mongo):
    client.force_login(ann)
    site.post(client, post_page, f"{TEXT} by account", notify="on")
    call_command("erase_author", "--user", "ann", stdout=StringIO())
    assert traces(mongo, TEXT) == {}
    assert mongo["comments.subscriptions"].count_documents({}) == 0


@pytest.mark.slow_after(1)
def test_erased_author_gets_no_pending_emails(seeded, mongo):
    call_command("erase_author", "--email", EMAIL, stdout=StringIO())
    while worker.work():
        pass
    from django.core import mail

    assert not [message for message in mail.outbox if EMAIL in message.to or TEXT in message.body]


@pytest.mark.slow_after(1)
def test_failed_jobs_and_logs_contain_no_email(seeded, mongo, network, monkeypatch, caplog):
    """Even if the error contains it: only the kind of the error is stored."""

    def refuse(mail):
        raise ValueError(f"cannot write to <{EMAIL}>, ({EMAIL}) or '{EMAIL}'")

    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)
    caplog.set_level("INFO")
    while worker.work():
        pass
    call_command("erase_author", "--email", EMAIL, stdout=StringIO())
    end_of_erasures(mongo)
    assert [job["error"].partition(" ")[0] for job in mongo.jobs.find({"error": {"$ne": ""}})]
    assert traces(mongo, NAME, EMAIL, TEXT, network) == {}
    assert "failed: ValueError" in caplog.text
    for secret in (NAME, EMAIL, TEXT, network, ADDRESS):
        assert secret not in caplog.text


@pytest.mark.parametrize("arguments", [[], ["--user", "nobody"]])
def test_ambiguous_author_is_refused(mongo, arguments):
    with pytest.raises(CommandError):
        call_command("erase_author", *arguments)
