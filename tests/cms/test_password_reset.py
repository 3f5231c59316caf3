"""A forgotten password: asked for at the log-in page, mailed, set anew."""

import re

from django.contrib.auth import get_user_model
from django.core import mail


def test_password_is_reset_by_mail(mongo, client):
    get_user_model().objects.create_user("ann", "ann@example.org", "old", is_staff=True)
    assert "/admin/password-reset/" in client.get("/admin/login/").content.decode()
    asked = client.post("/admin/password-reset/", {"email": "Ann@example.org"}, follow=True)
    assert "emailed" in asked.content.decode()
    (letter,) = mail.outbox
    assert letter.to == ["ann@example.org"]
    address = re.search(r"http://testserver(/\S+)", letter.body)[1]
    form = client.get(address, follow=True)
    password = "a-new-password-4-ann"
    done = client.post(form.redirect_chain[-1][0], {"new_password1": password, "new_password2": password}, follow=True)
    assert done.resolver_match.url_name == "password_reset_complete"
    assert client.post("/log-in", {"username": "ann", "password": password}).status_code == 302
    assert "used" in client.get(address, follow=True).content.decode(), "a link serves once"


def test_unknown_address_is_answered_alike_and_gets_no_mail(mongo, client):
    asked = client.post("/admin/password-reset/", {"email": "nobody@example.org"}, follow=True)
    assert "emailed" in asked.content.decode()
    assert mail.outbox == []
