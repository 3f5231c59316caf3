"""Guessing passwords: limited per network and per account, on every page that asks for a password."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth import get_user_model
from django.db import connections
from django.test import Client

from cms.accounts import throttling
from cms.testing.build import node
from marginalia.mongo.connection import database

RIGHT = "a good pass phrase"
PAGES = ("/log-in", "/admin/login/")


@pytest.fixture(autouse=True)
def accounts(mongo):
    for name in ("rea", "other"):
        get_user_model().objects.create_user(name, f"{name}@example.org", RIGHT, is_staff=True, is_superuser=True)


def attempt(page="/log-in", name="rea", password="wrong", address="192.0.2.1", client=None):
    return (client or Client()).post(page, {"username": name, "password": password}, REMOTE_ADDR=address)


def use_up(count=throttling.NETWORK_AND_ACCOUNT_LIMIT, **options):
    return [attempt(**options).status_code for _ in range(count)]


@pytest.mark.parametrize("page", PAGES)
def test_right_password_is_refused_after_too_many_wrong_ones(page):
    assert use_up(page=page) == [200] * throttling.NETWORK_AND_ACCOUNT_LIMIT
    refused = attempt(page, password=RIGHT)
    assert refused.status_code == 429
    assert refused["Retry-After"] == "900"
    assert "no-store" in refused["Cache-Control"]
    assert "Too many attempts" in refused.content.decode()
    assert "sessionid" not in refused.cookies


@pytest.mark.parametrize("page", PAGES)
def test_right_password_works_below_the_limit(page):
    use_up(throttling.NETWORK_AND_ACCOUNT_LIMIT - 1, page=page)
    assert attempt(page, password=RIGHT).status_code == 302


def test_attempts_on_both_pages_are_counted_together():
    use_up(2, page=PAGES[0])
    use_up(3, page=PAGES[1])
    assert attempt(PAGES[0], password=RIGHT).status_code == 429


def test_login_over_an_expired_form_counts_and_keeps_the_text():
    address = f"/admin/nodes/node/{node()}/change/"
    client = Client()
    sent = {"_username": "rea", "_password": "wrong", "title": "Typed for hours"}
    for _ in range(throttling.NETWORK_AND_ACCOUNT_LIMIT):
        assert client.post(address, sent).status_code == 403
    refused = client.post(address, {**sent, "_password": RIGHT})
    assert refused.status_code == 429
    assert "Typed for hours" in refused.content.decode()
    assert RIGHT not in refused.content.decode()
    assert attempt(password=RIGHT, address="127.0.0.1").status_code == 429


def test_other_accounts_and_networks_are_not_blocked():
    use_up()
    assert attempt(name="other", password=RIGHT).status_code == 302, "another account from there"
    assert attempt(password=RIGHT, address="198.51.100.1").status_code == 302, "the account from elsewhere"


def test_network_has_a_limit_over_all_accounts():
    for guess in range(throttling.NETWORK_LIMIT):
        attempt(name=f"name{guess}", address=f"192.0.2.{guess}")
    assert attempt(name="other", password=RIGHT).status_code == 429


def test_account_has_a_limit_over_all_networks(monkeypatch):
    monkeypatch.setattr(throttling, "ACCOUNT_LIMIT", 10)
    for network in range(10):
        attempt(address=f"198.51.{network}.1", name="REA" if network % 2 else "rea")
    assert attempt(password=RIGHT, address="203.0.113.1").status_code == 429


def test_right_passwords_are_not_counted():
    for _ in range(2 * throttling.NETWORK_AND_ACCOUNT_LIMIT):
        assert attempt(password=RIGHT).status_code == 302


def test_concurrent_attempts_do_not_exceed_the_limit(monkeypatch):
    checked = []
    monkeypatch.setattr(
        "django.contrib.auth.backends.ModelBackend.authenticate", lambda *args, **more: checked.append(1)
    )

    def work(_number):
        try:
            return attempt().status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(work, range(64)))
    assert len(checked) == throttling.NETWORK_AND_ACCOUNT_LIMIT
    assert statuses.count(429) == 64 - throttling.NETWORK_AND_ACCOUNT_LIMIT


def test_names_and_addresses_are_not_stored():
    use_up(2, name="rea")
    kept = str(list(database()["rate_limits"].find()))
    assert "rea" not in kept
    assert "192.0.2" not in kept
    assert all(document["expires"] for document in database()["rate_limits"].find())


def test_unknown_name_gets_the_same_response():
    known, unknown = attempt(), attempt(name="nobody")
    assert known.status_code == unknown.status_code == 200
    assert "rea" not in unknown.content.decode().replace("already", "").replace("read", "")
