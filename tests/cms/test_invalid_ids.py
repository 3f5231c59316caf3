"""Invalid ids find nothing, also in Django's own views."""

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError


@pytest.mark.parametrize("path", ["/admin/r/x/y/", "/admin/r/%ff/%00/", f"/admin/r/{'0' * 24}/{'0' * 24}/"])
def test_admin_shortcut_with_an_invalid_id_returns_404(client, mongo, path):
    client.force_login(get_user_model().objects.create_superuser("ann", password="x"))
    assert client.get(path).status_code == 404


def test_other_validation_errors_are_not_hidden(client, mongo, settings, monkeypatch):
    """Only an invalid id returns 404. Programming errors are not hidden."""

    def broken(*arguments, **more):
        raise ValidationError("something else")

    monkeypatch.setattr("nodes.selectors.stored_nodes.newest_entries", broken)
    client.raise_request_exception = False
    assert client.get("/").status_code == 500
