"""The name with which posts are signed, on the Dashboard and on its own page."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from nodes.types import Actor

User = get_user_model()


@pytest.fixture
def editor(mongo):
    return User.objects.create_superuser("editor", "", "pw")


def logged_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_dashboard_asks_for_the_name_until_it_is_set(editor):
    client = logged_in(editor)
    assert "Your posts are signed “editor”." in client.get("/admin/").content.decode()
    page = client.post("/admin/name/", {"name": "Ada Lindqvist"}, follow=True).content.decode()
    assert "Your name was changed." in page
    assert "Your posts are signed" not in page
    editor.refresh_from_db()
    assert Actor.of(editor).name == "Ada Lindqvist"
    assert 'value="Ada Lindqvist"' in client.get("/admin/name/").content.decode()


@pytest.mark.parametrize("name", ["", " ", "\u200b", "x" * 151, "a\0b"])
def test_invalid_name_is_rejected(editor, name):
    answer = logged_in(editor).post("/admin/name/", {"name": name})
    assert (answer.status_code, "errorlist" in answer.content.decode()) == (200, True)
    editor.refresh_from_db()
    assert editor.first_name == ""


def test_only_the_own_name_is_changed(editor):
    ann = User.objects.create_user("ann", "ann@example.org", "pw", is_staff=True, first_name="Ann")
    logged_in(ann).post("/admin/name/", {"name": "Ann Brown", "pk": str(editor.pk), "username": "editor"})
    assert list(User.objects.order_by("username").values_list("username", "first_name")) == [
        ("ann", "Ann Brown"),
        ("editor", ""),
    ]


def test_readers_and_visitors_have_no_page(mongo):
    reader = User.objects.create_user("rea", password="pw")
    for client in (Client(), logged_in(reader)):
        assert client.post("/admin/name/", {"name": "x"}).status_code == 302
    reader.refresh_from_db()
    assert reader.first_name == ""
