"""The first setup of a served site: demo, first account, static files."""

import pytest
from django.contrib.auth import get_user_model

from cms.serving import startup
from nodes.models import Node

pytestmark = pytest.mark.slow


@pytest.fixture
def var(settings, tmp_path, mongo):
    """A fresh var folder and an empty database."""
    settings.VAR_DIR = tmp_path
    settings.LOCAL = settings.DEMO = True
    return tmp_path


def test_unusable_port_is_refused_with_the_reason(monkeypatch):
    with pytest.raises(startup.CannotServe, match=r"Port 70000 can't be used: .*65535"):
        startup.require_free_port(70_000)
    monkeypatch.setattr("marginalia.local.ports.LOOPBACK", "192.0.2.1")
    with pytest.raises(startup.CannotServe, match="Port 20000 can't be used: .*Cannot assign requested address"):
        startup.require_free_port(20_000)


def test_demo_is_loaded_only_into_an_empty_site(var, mongo):
    assert startup.load_demo()
    assert Node.objects.count() > 5
    mongo["cms.nodes"].delete_one({"metadata.type": "blog-entry"})
    assert not startup.load_demo()


def test_interrupted_demo_is_completed(var, mongo):
    startup.load_demo()
    whole = Node.objects.count()
    mongo["cms.nodes"].delete_one({"metadata.type": "blog-entry"})
    (var / "demo.unfinished").touch()
    assert startup.load_demo()
    assert Node.objects.count() == whole
    assert not startup.load_demo()


def test_demo_can_be_switched_off(var, settings):
    settings.DEMO = False
    assert not startup.load_demo()
    assert not Node.objects.exists()


def test_first_account_has_a_random_password(var):
    login = startup.create_first_login()
    assert len(login.password) >= 12
    assert get_user_model().objects.get(username=login.name).check_password(login.password)
    assert login.password_file.stat().st_mode & 0o777 == 0o600


def test_password_is_returned_once(var):
    first = startup.create_first_login()
    again = startup.create_first_login()
    assert again == startup.Login(first.name, None, first.password_file)
    assert again.password_file.read_text() == first.password


def test_changed_password_is_not_shown(var):
    startup.create_first_login()
    editor = get_user_model().objects.get()
    editor.set_password("their own")
    editor.save()
    assert startup.create_first_login() == startup.Login(editor.username, None, None)


def test_no_account_is_created_if_others_exist(var):
    get_user_model().objects.create_user("ann")
    assert startup.create_first_login() is None
    assert get_user_model().objects.count() == 1


def test_no_account_is_created_on_a_public_site(var, settings):
    settings.LOCAL = False
    assert startup.create_first_login() is None
    assert not get_user_model().objects.exists()
