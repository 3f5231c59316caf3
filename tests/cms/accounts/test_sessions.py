"""manage.py end_sessions, and sessions after a password change."""

from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client


@pytest.fixture
def logged_in(mongo):
    """Return a function that creates an account and logs it in."""

    def log_in(name: str) -> Client:
        client = Client()
        client.force_login(get_user_model().objects.create_user(name, password="pw", is_staff=True))
        return client

    return log_in


def is_logged_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def run(*arguments: str, **options) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output, **options)
    return output.getvalue()


def test_end_sessions_logs_out_only_the_named_account(logged_in):
    ann, elsewhere, bob = logged_in("ann"), Client(), logged_in("bob")
    elsewhere.force_login(get_user_model().objects.get(username="ann"))
    assert "would end 2" in run("end_sessions", "--user", "ann", "--dry-run")
    assert is_logged_in(ann)
    assert "Ended 2" in run("end_sessions", "--user", "ann")
    assert not is_logged_in(ann)
    assert not is_logged_in(elsewhere)
    assert is_logged_in(bob)


def test_end_sessions_all_logs_everyone_out(logged_in):
    ann, bob = logged_in("ann"), logged_in("bob")
    assert "Ended 2" in run("end_sessions", "--all")
    assert not is_logged_in(ann)
    assert not is_logged_in(bob)


def test_end_sessions_of_unknown_account_exits_2(mongo):
    with pytest.raises(CommandError, match="account 'eve' doesn't exist") as refused:
        run("end_sessions", "--user", "eve")
    assert refused.value.returncode == 2


def test_changepassword_ends_sessions_of_that_account(logged_in, monkeypatch):
    ann, bob = logged_in("ann"), logged_in("bob")
    monkeypatch.setattr("getpass.getpass", lambda prompt="": "a new long password 7")
    run("changepassword", "ann")
    assert not is_logged_in(ann)
    assert is_logged_in(bob)
    assert Client().login(username="ann", password="a new long password 7")
