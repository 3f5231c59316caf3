"""A new password revokes the tokens of its account, however it is set."""

import re

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.contrib.auth.hashers import make_password
from django.core import mail
from django.core.management import call_command

from api.rights import tokens
from api.rights.scopes import Scope
from marginalia.tasks import worker
from tests.api.conftest import Asker

PASSWORD = "a-new-password-4-ed"
LINE = "Changing the password revokes all API tokens for the account."


def change(client, user, **_):
    page = "/admin/password_change/"
    assert LINE in client.get(page).content.decode()
    return client.post(page, {"old_password": "pw", "new_password1": PASSWORD, "new_password2": PASSWORD})


def change_another(client, user, **_):
    client.force_login(get_user_model().objects.create_superuser("root", "", "pw"))
    page = f"/admin/auth/user/{user.pk}/password/"
    assert LINE in client.get(page).content.decode()
    fields = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    return client.post(page, fields)


def reset(client, user, **_):
    client.logout()
    client.post("/admin/password-reset/", {"email": user.email})
    worker.work()
    form = client.get(re.search(r"http://testserver(/\S+)", mail.outbox[0].body)[1], follow=True)
    assert LINE in form.content.decode()
    return client.post(form.redirect_chain[-1][0], {"new_password1": PASSWORD, "new_password2": PASSWORD})


def by_command(user, monkeypatch, **_):
    monkeypatch.setattr("getpass.getpass", lambda **_: PASSWORD)
    call_command("changepassword", user.get_username(), verbosity=0)


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("way", [change, change_another, reset, by_command])
def test_new_password_revokes_the_tokens_of_the_account(way, account, client, monkeypatch):
    user, other = account("ed", "Editors"), account("ann", "Authors")
    secrets = [tokens.create(owner, "mirror", (Scope.READ,))[1] for owner in (user, user, other)]
    client.force_login(user)
    way(client=client, user=user, monkeypatch=monkeypatch)
    assert authenticate(username="ed", password=PASSWORD) == user
    assert [Asker(secret).get("/tree").status_code for secret in secrets] == [401, 401, 200]


def test_refused_password_revokes_no_token(account, client):
    user = account("ed", "Editors")
    secret = tokens.create(user, "mirror", (Scope.READ,))[1]
    client.force_login(user)
    answer = client.post("/admin/password_change/", {"old_password": "pw", "new_password1": "1", "new_password2": "1"})
    assert answer.status_code == 200
    assert Asker(secret).get("/tree").status_code == 200


@pytest.mark.slow
def test_rehashed_password_revokes_no_token(account, settings):
    user = account("ed", "Editors")
    secret = tokens.create(user, "mirror", (Scope.READ,))[1]
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher",
    ]
    old = make_password("pw", hasher="pbkdf2_sha1")
    get_user_model().objects.filter(pk=user.pk).update(password=old)
    assert authenticate(username="ed", password="pw") == user
    user.refresh_from_db()
    assert user.password.startswith("pbkdf2_sha256$")
    assert Asker(secret).get("/tree").status_code == 200


def test_tokens_of_an_inactive_account_are_refused(account):
    user = account("ed", "Editors")
    secret = tokens.create(user, "mirror", (Scope.READ,))[1]
    for is_active, status in ((False, 401), (True, 200)):
        user.is_active = is_active
        user.save()
        assert Asker(secret).get("/tree").status_code == status
