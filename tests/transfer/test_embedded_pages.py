"""Discussions that other sites embed are in the archive of the site, with their pages."""

import pytest
from django.core.management import CommandError, call_command

from api.models import EmbeddedPage
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from tests.api.embed.conftest import ORIGIN, PAGE, Browser, target


@pytest.fixture
def archive(mongo, rules, settings, tmp_path):
    """The archive of a site with an embedded discussion, which the site no longer has."""
    settings.EMBED = {"ORIGINS": [ORIGIN], "KEYS": []}
    assert Browser().post("Hello").status_code == 201
    path = tmp_path / "site"
    call_command("export_site", path)
    services.delete_discussion(target())
    mongo["api.embedded_pages"].delete_many({})
    return path


def test_embedded_discussions_are_imported_with_their_pages(archive):
    call_command("import_site", archive, "--dry-run")
    assert not EmbeddedPage.objects.exists()
    call_command("import_site", archive)
    page = EmbeddedPage.objects.get()
    assert (page.address, page.title) == (PAGE, "Seven")
    assert [comment.source for comment in selectors.iterate(target())] == ["Hello"]
    call_command("import_site", archive)
    assert EmbeddedPage.objects.count() == 1


def test_pages_of_unregistered_sites_are_skipped(archive, settings, capsys):
    settings.EMBED = {"ORIGINS": [], "KEYS": []}
    with pytest.raises(CommandError):
        call_command("import_site", archive)
    assert PAGE in capsys.readouterr().out
    assert not EmbeddedPage.objects.exists()
