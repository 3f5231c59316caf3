"""Inviting people, and accepting an invitation with the link from the email."""

import logging
import re
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.auth.tokens import default_token_generator
from django.core import mail
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from cms.accounts import invitations
from cms.accounts.forms import AcceptInvitationForm
from marginalia.tasks import worker
from nodes.types import Actor

User = get_user_model()
ADD, PEOPLE = reverse("admin:auth_user_add"), reverse("admin:auth_user_changelist")
PASSWORD = "hooting-4-owls"
CONSOLE = "django.core.mail.backends.console.EmailBackend"


def roles(*names: str) -> list[str]:
    return [str(pk) for pk in Group.objects.filter(name__in=names).values_list("pk", flat=True)]


def invite(client: Client, email: str = "ada@example.org", groups: tuple[str, ...] = ("Authors",), name: str = ""):
    return client.post(ADD, {"email": email, "first_name": name, "groups": roles(*groups)}, follow=True)


def emailed_path() -> str:
    """Run the jobs, and return the path of the link in the last email."""
    while worker.work():
        pass
    return re.search(r"http://testserver(/admin/invitation/\S+)", mail.outbox[-1].body)[1]


def accept(path: str, name: str = "Ada Lindqvist", password: str = PASSWORD, client: Client | None = None):
    sent = {"name": name, "new_password1": password, "new_password2": password}
    return (client or Client()).post(path, sent)


def state_of(client: Client, username: str) -> str:
    """Return the state of an account in the list of people."""
    return next(p.state[0] for p in client.get(PEOPLE).context["people"] if p.user.username == username)


@pytest.fixture
def root(mongo) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", "root@example.org", "pw"))
    return client


@pytest.fixture
def administrator(mongo) -> Client:
    """A member of Administrators who isn't a superuser."""
    user = User.objects.create_user("chief", "chief@example.org", "pw", is_staff=True)
    user.groups.set(Group.objects.filter(name="Administrators"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def path(root) -> str:
    """The path of the link for ada@example.org."""
    invite(root)
    return emailed_path()


def test_invited_person_sets_a_name_and_password(root):
    page = invite(root, email="Ada@Example.org")
    assert "The invitation to ada@example.org is being sent. Its link works once, for 3 days." in page.content.decode()
    ada = User.objects.get(email="ada@example.org")
    assert (ada.username, ada.is_staff, ada.is_superuser) == ("ada@example.org", True, False)
    assert [group.name for group in ada.groups.all()] == ["Authors"]
    assert state_of(root, "ada@example.org") == "invited"
    path = emailed_path()
    (email,) = mail.outbox
    assert email.to == ["ada@example.org"]
    assert "The link works once, for 3 days." in email.body
    person = Client()
    assert "ada@example.org" in person.get(path).content.decode()
    answer = accept(path, client=person)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert person.get("/admin/").status_code == 200
    assert Client().login(username="ada@example.org", password=PASSWORD)
    assert state_of(root, "ada@example.org") == "active"


def test_first_change_is_signed_with_the_name(path):
    accept(path, name="Ada Lindqvist")
    assert Actor.of(User.objects.get(email="ada@example.org")).name == "Ada Lindqvist"


def test_name_from_the_invitation_is_proposed(root):
    invite(root, name="Ada L.")
    assert 'value="Ada L."' in Client().get(emailed_path()).content.decode()


@pytest.mark.parametrize("missing", ["email", "groups"])
def test_email_address_and_role_are_required(root, missing):
    sent = {"email": "ada@example.org", "groups": roles("Authors")}
    assert root.post(ADD, {**sent, missing: ""}).status_code == 200
    assert not User.objects.filter(email="ada@example.org").exists()


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("name", "password"), [("", PASSWORD), (" \u200b", PASSWORD), ("Ada", "short1"), ("Ada", "ada@example.org")]
)
def test_invalid_name_or_password_is_rejected(path, name, password):
    answer = accept(path, name, password)
    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()
    assert not User.objects.get(email="ada@example.org").has_usable_password()
    assert accept(path).status_code == 302


class TestLink:
    def test_get_request_writes_nothing(self, path, commands):
        with commands.recorded():
            answer = Client().get(path)
        assert answer.status_code == 200
        assert {event.command_name for event in commands.sent} <= {"find", "aggregate"}
        assert "sessionid" not in answer.cookies

    def test_link_is_secret(self, path, caplog):
        with caplog.at_level(logging.INFO):
            for answer in (Client().get(path), Client().get(f"{path[:-1]}x/"), accept(path, password="x")):
                assert answer["Referrer-Policy"] == "strict-origin"
                assert "no-store" in answer["Cache-Control"]
        assert path.split("/")[-2] not in caplog.text

    def test_link_is_not_stored(self, root, mongo):
        invite(root)
        token = emailed_path().split("/")[-2]
        assert all(token not in str(list(mongo[name].find())) for name in mongo.list_collection_names())

    def test_used_link_is_rejected(self, path):
        accept(path)
        for answer in (Client().get(path), accept(path, name="Eve", password="another-4-password")):
            assert answer.status_code == 410
            assert "expired or has already been used" in answer.content.decode()
        ada = User.objects.get(email="ada@example.org")
        assert (ada.first_name, ada.check_password(PASSWORD)) == ("Ada Lindqvist", True)

    def test_expired_link_is_rejected(self, path, monkeypatch):
        later = timezone.make_naive(timezone.now()) + timedelta(days=3, minutes=1)
        monkeypatch.setattr(invitations.tokens, "_now", lambda: later)
        assert accept(path).status_code == 410
        assert not User.objects.get(email="ada@example.org").has_usable_password()

    def test_link_of_another_account_is_rejected(self, root, path):
        invite(root, email="bob@example.org")
        bob = urlsafe_base64_encode(force_bytes(User.objects.get(email="bob@example.org").pk))
        _start, _ada, token = path.strip("/").rsplit("/", 2)
        assert accept(f"/admin/invitation/{bob}/{token}/").status_code == 410

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize("uid", ["x", "____", "MQ", urlsafe_base64_encode(b"\xff" * 12), "a" * 500])
    def test_invalid_account_is_rejected(self, path, uid):
        assert accept(f"/admin/invitation/{uid}/{path.split('/')[-2]}/").status_code == 410

    def test_inactive_account_is_rejected(self, path):
        User.objects.filter(email="ada@example.org").update(is_active=False)
        assert accept(path).status_code == 410

    def test_link_for_resetting_a_password_is_not_an_invitation(self, path):
        ada = User.objects.get(email="ada@example.org")
        uid = urlsafe_base64_encode(force_bytes(ada.pk))
        assert accept(f"/admin/invitation/{uid}/{default_token_generator.make_token(ada)}/").status_code == 410
        reset = f"/admin/password-reset/{uid}/{path.split('/')[-2]}/"
        assert Client().get(reset, follow=True).context["validlink"] is False

    def test_account_with_a_password_is_rejected(self, mongo):
        ann = User.objects.create_user("ann", "ann@example.org", "pw")
        assert accept(invitations.link(ann, "")).status_code == 410

    def test_only_one_of_two_simultaneous_requests_accepts(self, path, monkeypatch):
        both, statuses = Barrier(2), []
        save = AcceptInvitationForm.save

        def wait_and_save(form, commit=True):
            both.wait(10)
            return save(form, commit)

        monkeypatch.setattr(AcceptInvitationForm, "save", wait_and_save)

        def work(name):
            statuses.append((accept(path, name=name).status_code, name))
            connections.close_all()

        threads = [Thread(target=work, args=[name]) for name in ("Ada", "Eve")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (_status, winner), (refused, _name) = sorted(statuses)
        assert refused == 410
        assert User.objects.get(email="ada@example.org").first_name == winner


class TestSendingAgain:
    def test_new_link_replaces_the_old_link(self, root, path):
        ada = User.objects.get(email="ada@example.org")
        page = root.get(reverse("admin:auth_user_change", args=[ada.pk])).content.decode()
        again = reverse("admin:auth_user_invitation", args=[ada.pk])
        assert "Send the link again" in page
        assert f'<form id="invitation" method="post" action="{again}">' in page
        assert root.get(again).status_code == 405
        assert root.post(again).status_code == 302
        new = emailed_path()
        assert len(mail.outbox) == 2
        assert accept(path).status_code == 410
        assert accept(new).status_code == 302

    @pytest.mark.parametrize("change", [{"is_active": False}, {"last_login": timezone.now()}])
    def test_inactive_and_accepted_accounts_get_no_link(self, root, path, change):
        User.objects.filter(email="ada@example.org").update(**change)
        ada = User.objects.get(email="ada@example.org")
        answer = root.post(reverse("admin:auth_user_invitation", args=[ada.pk]), follow=True)
        assert "inactive, or the invitation has already been accepted" in answer.content.decode()
        assert worker.work() is None

    def test_password_that_was_set_meanwhile_is_kept(self, path):
        stale = User.objects.get(email="ada@example.org")
        accept(path)
        assert not invitations.renew(stale)
        assert Client().login(username="ada@example.org", password=PASSWORD)

    def test_withdrawn_invitation_is_not_emailed(self, root):
        invite(root)
        User.objects.filter(email="ada@example.org").delete()
        assert worker.work().name == "accounts.invite"
        assert mail.outbox == []


class TestWithoutEmailServer:
    def test_link_is_shown_once(self, root, settings):
        settings.EMAIL_BACKEND = CONSOLE
        page = invite(root).content.decode()
        assert "this site has no email server" in page
        assert worker.work() is None
        path = re.search(r"http://testserver(/admin/invitation/[^<]+)<", page)[1]
        assert "/admin/invitation/" not in root.get(PEOPLE).content.decode()
        assert accept(path).status_code == 302


class TestExistingAccounts:
    @pytest.mark.parametrize("email", ["ann@example.org", "ANN@Example.org"])
    def test_address_of_an_account_is_rejected(self, root, email):
        ann = User.objects.create_user("ann", "Ann@example.org", "pw")
        page = invite(root, email=email).content.decode()
        assert f'already has an account. <a href="{reverse("admin:auth_user_change", args=[ann.pk])}">' in page
        assert User.objects.count() == 2

    def test_address_of_an_invited_person_is_rejected(self, root):
        invite(root)
        assert "has already been invited" in invite(root).content.decode()
        assert User.objects.count() == 2

    def test_address_that_was_invited_meanwhile_is_rejected(self, root, monkeypatch):
        invite(root)
        monkeypatch.setattr(invitations, "find_account", lambda email: None)
        assert "has just been invited" in invite(root).content.decode()
        assert User.objects.count() == 2

    def test_address_of_another_account_is_rejected_on_the_page_of_an_account(self, root, path):
        bob = User.objects.create_user("bob", "bob@example.org", "pw")
        form = reverse("admin:auth_user_change", args=[bob.pk])
        sent = {"username": "bob", "is_active": "on"}
        assert root.post(form, {**sent, "email": "ADA@example.org"}).status_code == 200
        assert root.post(form, {**sent, "email": "Bob@example.net"}).status_code == 302
        bob.refresh_from_db()
        assert (bob.username, bob.email) == ("bob", "bob@example.net")

    def test_corrected_address_is_also_the_username(self, root, path):
        ada = User.objects.get(email="ada@example.org")
        form = reverse("admin:auth_user_change", args=[ada.pk])
        sent = {"username": ada.username, "email": "ada@example.net", "is_active": "on", "is_staff": "on"}
        assert root.post(form, sent).status_code == 302
        ada.refresh_from_db()
        assert (ada.username, ada.email) == ("ada@example.net", "ada@example.net")
        assert accept(path).status_code == 410, "the old address could have been someone else's"


class TestRights:
    def test_administrator_invites(self, administrator):
        invite(administrator, groups=("Editors", "Moderators"))
        assert User.objects.get(email="ada@example.org").groups.count() == 2

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize("role", ["Authors", "Editors", "Moderators"])
    def test_other_roles_cannot_invite(self, mongo, role):
        user = User.objects.create_user("ann", "ann@example.org", "pw", is_staff=True)
        user.groups.set(Group.objects.filter(name=role))
        bob = User.objects.create_user("bob", "bob@example.org")
        client = Client()
        client.force_login(user)
        assert invite(client).status_code == 403
        assert client.post(reverse("admin:auth_user_invitation", args=[bob.pk])).status_code == 403
        assert not User.objects.filter(email="ada@example.org").exists()

    @pytest.mark.slow
    def test_role_above_own_rights_is_rejected(self, mongo):
        host = User.objects.create_user("host", "host@example.org", "pw", is_staff=True)
        allowed = {"auth.add_user", "auth.change_user", "auth.view_user", "nodes.add_node", "nodes.change_node"}
        named = {f"{p.content_type.app_label}.{p.codename}": p for p in Permission.objects.all()}
        host.user_permissions.set(named[name] for name in allowed)
        client = Client()
        client.force_login(host)
        page = client.get(ADD).content.decode()
        assert "Authors:" in page
        assert "Editors:" not in page
        assert invite(client, groups=("Editors",)).status_code == 200
        assert not User.objects.filter(email="ada@example.org").exists()
        invite(client, groups=("Authors",))
        ada = User.objects.get(email="ada@example.org")
        sent = {"username": ada.username, "email": ada.email, "is_active": "on", "is_staff": "on"}
        change = reverse("admin:auth_user_change", args=[ada.pk])
        assert client.post(change, {**sent, "groups": roles("Authors", "Editors")}).status_code == 200
        assert [group.name for group in ada.groups.all()] == ["Authors"]

    @pytest.mark.parametrize("is_active", [True, False])
    def test_account_above_own_rights_is_read_only(self, administrator, root, is_active):
        boss = User.objects.create_superuser("boss", "boss@example.org", None, is_active=is_active)
        form = reverse("admin:auth_user_change", args=[boss.pk])
        password = reverse("admin:auth_user_password_change", args=[boss.pk])
        again = reverse("admin:auth_user_invitation", args=[boss.pk])
        sent = {"password1": PASSWORD, "password2": PASSWORD, "username": "boss", "email": "eve@example.org"}
        assert [administrator.post(url, sent).status_code for url in (form, password, again)] == [403, 403, 403]
        assert root.post(form, {**sent, "is_superuser": "on"}).status_code == 302

    @pytest.mark.slow
    def test_role_gets_no_permission_that_the_administrator_lacks(self, administrator, root, group):
        proofreaders = group("Proofreaders")
        form = reverse("admin:auth_group_change", args=[proofreaders.pk])
        permissions = {permission.codename: str(permission.pk) for permission in Permission.objects.all()}
        sent = {"name": "Proofreaders", "permissions": [permissions["change_node"]]}
        assert administrator.post(form, sent).status_code == 302
        above = {**sent, "permissions": [permissions["change_node"], permissions["delete_session"]]}
        assert administrator.post(form, above).status_code == 200
        assert [permission.codename for permission in proofreaders.permissions.all()] == ["change_node"]
        assert root.post(form, above).status_code == 302
        assert administrator.post(form, sent).status_code == 403

    def test_administrator_cannot_become_a_superuser(self, administrator):
        chief = User.objects.get(username="chief")
        sent = {"username": "chief", "email": chief.email, "is_active": "on", "is_staff": "on", "is_superuser": "on"}
        groups = roles("Administrators")
        assert (
            administrator.post(
                reverse("admin:auth_user_change", args=[chief.pk]), {**sent, "groups": groups}
            ).status_code
            == 302
        )
        chief.refresh_from_db()
        assert (chief.is_superuser, chief.groups.count()) == (False, 1)


def test_createsuperuser_needs_no_invitation(mongo):
    boss = User.objects.create_superuser("boss", "", "pw")
    assert not invitations.is_invited(boss)
    assert Client().login(username="boss", password="pw")
