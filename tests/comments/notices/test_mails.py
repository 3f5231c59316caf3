"""Emails to moderators and to subscribers of replies: each is sent once, whatever happens to workers."""

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.core import mail
from django.test import Client

from marginalia.comments.moderation import pending
from marginalia.comments.notices import subscriptions
from marginalia.comments.posting import ip_hash, services
from marginalia.comments.reading import selectors
from marginalia.tasks import queue, worker
from marginalia.tasks.compat import tasks
from tests.support.comments import site
from tests.support.comments.site import last_link, work
from tests.support.interrupting import stopped_before_command

pytestmark = pytest.mark.usefixtures("mongo")


def test_moderators_are_notified_once_of_a_held_comment(client, post_page, rules):
    rules(MODE="hold-all", MODERATORS=["mona@example.org"])
    data = site.fill(client, post_page, "Please look")
    for _ in range(2):
        site.send(client, data)
    work()
    assert [message.to for message in mail.outbox] == [["mona@example.org"]]
    assert "Please look" in mail.outbox[0].body
    assert selectors.held()[0].id in mail.outbox[0].body


def test_moderators_are_not_notified_of_decided_comments(client, post_page, rules):
    rules(MODE="hold-all", MODERATORS=["mona@example.org"])
    site.post(client, post_page, "Please look")
    pending.reject(selectors.held()[0].id)
    work()
    assert mail.outbox == []


def test_emails_use_the_url_of_the_site(post_page, subscribed, moderator, settings, rules):
    """In every kind of email and its unsubscribe header, for every way to post and to publish."""
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://example.org", ["*"]
    evil = Client(headers={"host": "evil.example"})
    mail.outbox.clear()
    site.post(evil, post_page, "Ask me too", email="eve@example.org", notify="on")
    site.post(evil, post_page, "An answer", parent=subscribed.slug, name="Bob")
    rules(MODE="hold-all", MODERATORS=["mona@example.org"])
    for text in ("Waits", "Waits too"):
        site.post(evil, post_page, text, parent=subscribed.slug, name="Carl")
    work()
    evil.force_login(moderator)
    one, other = selectors.held()
    evil.post(f"/comments/approve/{one.id}", {"rev": one.rev})
    evil.post("/admin/marginalia_comments/moderation/decide", {"action": f"approve:{other.id}.{other.rev}"})
    work()
    assert len(mail.outbox) == 6
    for message in mail.outbox:
        told = message.message().as_string()
        assert "https://example.org/" in told
        assert "evil" not in told.replace("eve@example.org", "")


def test_emails_use_the_requested_host_without_a_site_url(post_page, settings, rules):
    rules(MODE="hold-all", MODERATORS=["mona@example.org"], ORIGIN="marginalia.comments.reading.links.requested")
    settings.ALLOWED_HOSTS = ["one.example", "other.example"]
    site.post(Client(headers={"host": "other.example"}), post_page, "Please look")
    work()
    assert "http://other.example/comments/" in mail.outbox[0].body
    data = site.fill(Client(headers={"host": "other.example"}), post_page, "And here")
    assert site.send(Client(headers={"host": "evil.example"}), data).status_code == 400
    assert len(selectors.held()) == 1


def test_emails_name_the_recipient_and_are_marked_automatic(client, post_page, subscribed, rules):
    site.post(Client(), post_page, "My answer", parent=subscribed.slug, name="Bob")
    rules(MODE="hold-all", MODERATORS=["mona@example.org"])
    site.post(Client(), post_page, "Waits")
    work()
    messages = [message.message() for message in mail.outbox]
    assert [message["To"] for message in messages] == ["ann@example.org", "ann@example.org", "mona@example.org"]
    assert {message["Auto-Submitted"] for message in messages} == {"auto-generated"}


def test_subscription_needs_a_confirmation_by_post(client, post_page):
    site.post(client, post_page, "Ask me", email="ann@example.org", notify="on")
    work()
    assert mail.outbox[0].to == ["ann@example.org"]
    link = last_link("subscribe")
    assert "<button>" in client.get(link).content.decode()
    (subscription,) = subscriptions.by_email("ann@example.org")
    assert subscription.confirmed is None
    client.post(link)
    assert subscriptions.get(subscription.id).confirmed


def test_reply_is_notified_once_with_an_unsubscribe_link(client, post_page, subscribed):
    data = site.fill(Client(), post_page, "My answer", parent=subscribed.slug, name="Bob")
    for _ in range(2):
        site.send(Client(), data)
    work()
    notice = mail.outbox[-1]
    assert len(mail.outbox) == 2
    assert notice.to == ["ann@example.org"]
    assert "My answer" in notice.body
    link = last_link("unsubscribe")
    assert link in notice.extra_headers["List-Unsubscribe"]
    client.get(link)
    assert subscriptions.by_email("ann@example.org")
    client.post(link)
    assert not subscriptions.by_email("ann@example.org")
    assert client.get(link).status_code == 200
    assert client.get(link[:-3]).status_code == client.post(link[:-3]).status_code == 404


def test_unsubscribed_reader_must_confirm_again(client, post_page, subscribed):
    subscriptions.end(subscriptions.id_for(post_page, "ann@example.org"))
    for text in ("Once more", "And more"):
        site.post(client, post_page, text, email="ann@example.org", notify="on")
    work()
    assert len(mail.outbox) == 2
    client.post(last_link("subscribe"))
    assert subscriptions.by_email("ann@example.org")[0].confirmed


def test_unconfirmed_and_unsubscribed_get_no_email(client, post_page):
    site.post(client, post_page, "Ask me", email="ann@example.org", notify="on")
    work()
    parent = list(selectors.iterate(post_page))[0]
    site.post(Client(), post_page, "Answer", parent=parent.slug, name="Bob")
    work()
    assert len(mail.outbox) == 1


def test_queued_notice_is_not_sent_to_an_unconfirmed_subscription(post_page, subscribed):
    site.post(Client(), post_page, "Answer", parent=subscribed.slug, name="Bob")
    subscriptions.end(subscriptions.id_for(post_page, "ann@example.org"))
    subscriptions.add(post_page, subscribed.slug, "ann@example.org")
    work()
    assert len(mail.outbox) == 1


def test_own_replies_and_other_threads_are_not_notified(client, post_page, subscribed):
    site.post(Client(), post_page, "Own", parent=subscribed.slug, email="ANN@example.org")
    site.post(Client(), post_page, "Elsewhere")
    work()
    assert len(mail.outbox) == 1


def test_own_replies_of_an_account_are_not_notified(client, post_page, ann):
    client.force_login(ann)
    site.post(client, post_page, "Ask me", notify="on")
    work()
    client.post(last_link("subscribe"))
    parent = list(selectors.iterate(post_page))[0].slug
    site.post(client, post_page, "Own", parent=parent)
    work()
    assert len(mail.outbox) == 1
    site.post(Client(), post_page, "Bob's", parent=parent, name="Bob")
    work()
    assert len(mail.outbox) == 2


def test_held_reply_is_notified_when_it_is_approved(post_page, subscribed, rules):
    rules(MODE="hold-all")
    site.post(Client(), post_page, "Answer", parent=subscribed.slug, name="Bob")
    work()
    assert len(mail.outbox) == 1
    pending.decide("approve", [selectors.held()[0].id], "mona", "http://testserver")
    work()
    assert "Answer" in mail.outbox[-1].body


@pytest.mark.parametrize("how", ["says nothing", "refuses"])
def test_refused_email_is_sent_later(client, post_page, rules, mongo, settings, how):
    assert settings.EMAIL_TIMEOUT
    rules(MODE="hold-all", MODERATORS=["mona@example.org"])
    site.post(client, post_page, "Please look")
    with mail_server(settings, how):
        work()
    assert mongo["jobs"].find_one({"kind": "comments.held"})["error"].startswith("the email server: ")
    mongo["jobs"].update_many({}, {"$set": {"due": queue.now()}})
    work()
    assert len(mail.outbox) == 1


def test_email_that_may_have_been_sent_is_not_repeated(client, post_page, rules, mongo, settings):
    rules(MODE="hold-all", MODERATORS=["mona@example.org"])
    site.post(client, post_page, "Please look")
    with mail_server(settings, "takes it, and breaks"):
        work()
    mongo["jobs"].update_many({}, {"$set": {"due": queue.now()}})
    work()
    assert mail.outbox == []
    assert mongo["jobs"].find_one({"kind": "comments.held"})["state"] == queue.DONE


@contextmanager
def mail_server(settings, how):
    """Send emails to a server that mishandles the first one."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as pool:
        answered = pool.submit(_answer, listening, how)
        backend, settings.EMAIL_BACKEND = settings.EMAIL_BACKEND, "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = *listening.getsockname(), 0.5
        yield
        settings.EMAIL_BACKEND = backend
        answered.result()


def _answer(listening, how):
    opened = listening.accept()[0]
    with opened, opened.makefile("rwb", buffering=0) as stream:
        if how == "says nothing":
            stream.read()
            return
        stream.write(b"220 here\r\n")
        for line in stream:
            command = line[:4].upper()
            if command == b"DATA":
                stream.write(b"354 go on\r\n")
            elif line == b".\r\n":
                return
            elif command in (b"EHLO", b"MAIL", b"RCPT", b"QUIT", b"RSET"):
                stream.write(b"450 not now\r\n" if (command, how) == (b"RCPT", "refuses") else b"250 fine\r\n")


def test_worker_dying_while_sending_causes_no_second_email(client, post_page, rules, mongo):
    rules(MODE="hold-all", MODERATORS=["mona@example.org"])
    site.post(client, post_page, "Please look")
    with stopped_before_command("update", "jobs", lambda command: "state" in command["updates"][0]["u"]["$set"]):
        worker.work()
    assert len(mail.outbox) == 1
    mongo["jobs"].update_many({}, {"$set": {"due": queue.now()}})
    work()
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("how", ["takes it", "refuses"])
def test_immediate_back_end_sends_emails_with_the_request(client, post_page, rules, mongo, settings, how):
    settings.TASKS = {"default": {"BACKEND": f"{tasks.__name__}.backends.immediate.ImmediateBackend"}}
    rules(MODE="hold-all", MODERATORS=["mona@example.org"])
    if how == "refuses":
        with mail_server(settings, how):
            assert site.post(client, post_page, "Please look").status_code == 302
    else:
        assert site.post(client, post_page, "Please look").status_code == 302
    assert len(mail.outbox) == (how == "takes it")
    assert len(selectors.held()) == 1
    assert mongo["jobs"].count_documents({}) == 0


def test_notices_without_an_address_keep_the_text(client, post_page):
    refused = site.post(client, post_page, "Ask me", notify="on")
    assert refused.status_code == 422
    assert site.fields_of(refused.content.decode())["text"] == "Ask me"
    assert selectors.count(post_page) == 0


def test_forged_subscription_links_return_404(client, post_page, subscribed):
    assert client.get("/comments/subscribe/forged").status_code == 404
    link = f"/comments/unsubscribe/{subscriptions.token('0' * 40, subscriptions.LEAVE)}"
    client.post(link)
    assert subscriptions.by_email("ann@example.org")


def test_ip_address_is_stored_as_a_keyed_hash_and_expires(client, post_page, mongo):
    site.post(client, post_page, "Hello")
    comment = list(selectors.iterate(post_page))[0]
    kept = mongo["comments.ip_hashes"].find_one()
    assert ip_hash.find(post_page, comment.slug) == kept["ip_hash"]
    assert "127.0" not in str(kept)
    expiry = mongo["comments.ip_hashes"].index_information()["kept_for_a_month"]
    assert expiry["expireAfterSeconds"] == 30 * 24 * 3600


def test_deleted_discussion_leaves_nothing(client, post_page, mongo, subscribed):
    client.post(f"/comments/flag/{post_page.label}/{post_page.pk}/{subscribed.slug}")
    services.delete_discussion(post_page)
    left = {name for name in mongo.list_collection_names() if mongo[name].find_one({"discussion_id": post_page.id})}
    assert left == set()
