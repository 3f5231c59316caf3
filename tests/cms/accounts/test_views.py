"""Readers with an account log in and out. The admin accepts only staff."""

import re

import pytest
from django.contrib.auth import get_user_model

from nodes.models import stored_site
from nodes.services.site import save_settings


@pytest.fixture
def reader(mongo):
    return get_user_model().objects.create_user("rea", password="a good pass phrase")


def log_in(client, password="a good pass phrase", **more):
    return client.post("/log-in", {"username": "rea", "password": password, **more})


def test_reader_returns_to_the_page_after_login(client, reader):
    answer = log_in(client, next="/search?q=x")
    assert (answer.status_code, answer["Location"]) == (302, "/search?q=x")
    page = client.get("/").content.decode()
    assert "Log out" in page
    assert client.post("/log-out").status_code == 302
    assert "Log out" not in client.get("/").content.decode()


def test_login_page_shows_the_name_of_the_site(client, mongo):
    save_settings({"name": "A small magazine"}, {"name": stored_site.read().settings.name})
    page = client.get("/log-in").content.decode()
    assert "A small magazine" in page
    assert "testserver" not in re.sub(r"https?://testserver", "", page)


def test_wrong_password_keeps_the_name_and_the_next_page(client, reader):
    answer = log_in(client, password="wrong", next="/search")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert 'value="rea"' in page
    assert 'name="next" value="/search"' in page


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_login_never_redirects_to_another_site(client, reader, elsewhere):
    assert log_in(client, next=elsewhere)["Location"] == "/"


def test_get_request_does_not_log_out(client, reader):
    log_in(client)
    assert client.get("/log-out").status_code == 405
    assert "Log out" in client.get("/").content.decode()


def test_public_page_offers_the_login(client, mongo):
    page = client.get("/")
    assert 'href="/log-in"' in page.content.decode()
    assert not page.cookies
