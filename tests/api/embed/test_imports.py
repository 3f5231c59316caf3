"""Comments of a static site, imported from another comment system onto its pages."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from api.models import EmbeddedPage
from marginalia.comments.imports.addresses import Addresses, foreign_url
from marginalia.comments.imports.sources import FILES
from marginalia.comments.imports.staging import Staging
from marginalia.comments.reading import selectors
from tests.api.embed.conftest import PAGE, Browser, target
from tests.support.sign_on import SECRET, token


@pytest.fixture
def file(tmp_path):
    """An export with a comment on the page, and a reply."""
    first = {"id": 1, "url": f"{PAGE}?utm=1#disqus_thread", "posted": 0, "text": "First", "anchor": "comment-1"}
    second = {**first, "id": 2, "parent": 1, "posted": 60, "text": "Second", "anchor": "comment-2"}
    path = tmp_path / "comments.jsonl"
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    return str(path)


def test_dry_run_names_a_page_and_stores_nothing(embed, file, capsys):
    call_command("import_comments", file, "--from", "json-lines", "--dry-run")
    assert f"2 of them on 1 pages of other sites, such as {PAGE}" in capsys.readouterr().out
    assert not EmbeddedPage.objects.exists()


def test_comments_are_imported_onto_the_page(browser, file):
    call_command("import_comments", file, "--from", "json-lines")
    first, second = browser.read()["items"]
    assert (first["body_html"], second["answers"]) == ("<p>First</p>", first["slug"])
    # The first comment that a reader posts names the title of the page.
    assert EmbeddedPage.objects.get().title == ""
    browser.post("Third")
    assert EmbeddedPage.objects.get().title == "Seven"
    assert selectors.count(target()) == 3


def test_old_permalink_leads_to_the_comment(browser, file, rules):
    rules(PAGE_SIZE=1)
    call_command("import_comments", file, "--from", "json-lines")
    answer = browser.read(anchor="comment-2")
    assert [item["body_html"] for item in answer["items"]] == ["<p>Second</p>"]
    assert answer["shown"] == answer["items"][0]["slug"]
    assert browser.read(anchor="comment-9")["shown"] == ""


def test_pages_of_unregistered_sites_are_unknown(embed, file, settings):
    settings.EMBED = {"ORIGINS": ["https://other.example.org"], "KEYS": []}
    with Staging() as staging:
        staging.fill(FILES["json-lines"](Path(file)), Addresses())
        assert [count for _address, count in staging.unmatched()] == [2]


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (f"{PAGE}?a=1", PAGE),
        ("https://blog.example.org/stra\xdfe/", "https://blog.example.org/stra%C3%9Fe/"),
        ("/map/this", f"{PAGE}#post-7"),
    ],
)
def test_addresses_are_written_as_browsers_do(embed, address, url, tmp_path):
    (tmp_path / "map.csv").write_text(f"/map/this,{PAGE}#post-7\n")
    assert foreign_url(Addresses.from_options([], tmp_path / "map.csv").convert(address)) == url


def test_picture_of_a_signed_on_reader_is_shown(embed, settings):
    settings.EMBED = {**settings.EMBED, "KEYS": [f"HS256:{SECRET}"]}
    url = "https://blog.example.org/bea.png"
    for key, (picture, shown) in enumerate(((url, url), ("javascript:alert(1)", ""), (7, ""), ("x" * 600, ""))):
        browser = Browser(token=token(picture=picture))
        answer = browser.post(f"Text {key}", key=f"0e8bd5a6-7f0a-4c7e-9c39-4d1f5c6f1b6{key}")
        assert answer.json()["comment"]["author"]["picture"] == shown
