"""Invalid ids find nothing, also in Django's own views."""

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

ZERO = "0" * 24


@pytest.fixture
def root(client, mongo):
    client.force_login(User.objects.create_superuser("ann", password="x"))
    return client


@pytest.mark.parametrize("path", ["/admin/r/x/y/", "/admin/r/%ff/%00/", f"/admin/r/{ZERO}/{ZERO}/"])
def test_admin_shortcut_with_an_invalid_id_returns_404(root, path):
    assert root.get(path).status_code == 404


@pytest.mark.parametrize("invalid", ["x", "%ff", "%00", "_5F", ZERO])
def test_password_page_with_an_invalid_id_shows_the_admin_error(root, invalid):
    response = root.get(f"/admin/auth/user/{invalid}/password/")
    assert response.status_code == 404
    assert 'class="rail"' in response.content.decode()
    assert response.context["title"] == "Page not found"


def test_query_for_an_invalid_id_returns_404(root, monkeypatch):
    """Admin pages show the error in the admin's frame, and public pages as other errors."""
    monkeypatch.setattr("cms.dashboard.searching.search", lambda *_arguments: User.objects.get(pk="x"))
    response = root.get("/admin/search/")
    assert response.status_code == 404
    assert 'class="rail"' in response.content.decode()
    monkeypatch.setattr("nodes.selectors.stored_nodes.newest_entries", lambda *_a, **_k: User.objects.get(pk="x"))
    response = root.get("/")
    assert response.status_code == 404
    assert 'class="rail"' not in response.content.decode()


def test_other_validation_errors_are_not_hidden(root, monkeypatch):
    """Only an invalid id returns 404. Programming errors are not hidden."""

    def broken(*arguments, **more):
        raise ValidationError("something else")

    monkeypatch.setattr("nodes.selectors.stored_nodes.newest_entries", broken)
    monkeypatch.setattr("cms.dashboard.searching.search", broken)
    root.raise_request_exception = False
    assert root.get("/").status_code == 500
    assert root.get("/admin/search/").status_code == 500
