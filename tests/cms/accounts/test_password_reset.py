"""Resetting a forgotten password: requested on the login page, sent by email, and set."""

import re

from django.contrib.auth import get_user_model
from django.core import mail

from marginalia.local.ports import free_port
from marginalia.mongo.clock import now
from marginalia.tasks import queue, worker
from nodes.services.site import save_settings


def test_password_is_reset_by_email(mongo, client):
    get_user_model().objects.create_user("ann", "ann@example.org", "old", is_staff=True)
    assert "/admin/password-reset/" in client.get("/admin/login/").content.decode()
    asked = client.post("/admin/password-reset/", {"email": "Ann@example.org"}, follow=True)
    assert "emailed" in asked.content.decode()
    assert mail.outbox == [], "the worker sends it"
    worker.work()
    (letter,) = mail.outbox
    assert letter.to == ["ann@example.org"]
    address = re.search(r"http://testserver(/\S+)", letter.body)[1]
    form = client.get(address, follow=True)
    password = "a-new-password-4-ann"
    done = client.post(form.redirect_chain[-1][0], {"new_password1": password, "new_password2": password}, follow=True)
    assert done.resolver_match.url_name == "password_reset_complete"
    assert client.post("/log-in", {"username": "ann", "password": password}).status_code == 302
    assert "used" in client.get(address, follow=True).content.decode(), "a link serves once"


def test_unknown_address_gets_the_same_page_and_no_email(mongo, client):
    asked = client.post("/admin/password-reset/", {"email": "nobody@example.org"}, follow=True)
    assert "emailed" in asked.content.decode()
    assert worker.work().name == "accounts.reset"
    assert queue.failures() == []
    assert mail.outbox == []


def test_request_does_the_same_work_for_unknown_accounts(mongo, client, commands):
    """The response time reveals nothing: the same commands on the same collections in the same order, and no email."""
    get_user_model().objects.create_user("ann", "ann@example.org", "old", is_staff=True)
    asked = {}
    # The first request reads what a process caches.
    for email in ("first@example.org", "ann@example.org", "nobody@example.org"):
        with commands.recorded():
            assert client.post("/admin/password-reset/", {"email": email}).status_code == 302
        asked[email] = [(event.command_name, event.command[event.command_name]) for event in commands.sent]
        assert mail.outbox == []
    assert asked["ann@example.org"] == asked["nobody@example.org"] != []
    while worker.work():
        pass
    assert [letter.to for letter in mail.outbox] == [["ann@example.org"]]


def test_email_is_in_the_language_of_the_page(mongo, client):
    get_user_model().objects.create_user("ann", "ann@example.org", "old", is_staff=True)
    save_settings({"language": "zh-hans"}, {"language": "en"})
    client.post("/admin/password-reset/", {"email": "ann@example.org"})
    worker.work()
    assert "密码" in mail.outbox[0].body


def test_refused_email_is_sent_again(mongo, client, settings):
    get_user_model().objects.create_user("ann", "ann@example.org", "old", is_staff=True)
    client.post("/admin/password-reset/", {"email": "ann@example.org"})
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = (
        "django.core.mail.backends.smtp.EmailBackend",
        "127.0.0.1",
        free_port(),
    )
    worker.work()
    waiting = mongo["jobs"].find_one({"kind": "accounts.reset"})
    assert (waiting["state"], waiting["tries"]) == (queue.WAITING, 1)
    assert "mail server" in waiting["error"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    mongo["jobs"].update_one({"_id": waiting["_id"]}, {"$set": {"due": now()}})
    worker.work()
    assert [letter.to for letter in mail.outbox] == [["ann@example.org"]]
    assert mongo["jobs"].find_one({"_id": waiting["_id"]})["payload"] == {}, "the address is kept no longer than needed"
