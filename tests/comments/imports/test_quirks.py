"""Odd and hostile comments, as they are found in the exports of each system."""

import gzip
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser

import pytest

from api.models import EmbeddedPage
from marginalia.comments.imports.records import SourceState
from marginalia.comments.imports.sources import TABLES
from marginalia.comments.reading import selectors
from marginalia.comments.targets import target_for
from tests.comments.imports.conftest import page_of, store_pages
from tests.comments.imports.writers import START, WRITERS, Row

HOSTILE = (
    'Hostile <script>alert(1)</script><img src=x onerror=alert(2)><a href="javascript:alert(3)">link</a> '
    "<svg onload=alert(4)> [five](javascript:alert(5)) <style>*{display:none}</style> <iframe src=//evil></iframe>"
)
SUMMER = timezone(timedelta(hours=2))


class Tags(HTMLParser):
    """The names and attributes of the tags in HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def quirky_rows(page: str) -> list[Row]:
    """Return rows with one quirk each, in the order of time."""
    rows = [
        Row(1, page, "Start"),
        Row(2, page, "Orphan", parent=99),
        Row(3, page, "", state=SourceState.REMOVED),
        Row(4, page, "Below-removed", parent=3),
        Row(5, page, HOSTILE, name="<b>Eve\u202e</b>\nsecond line"),
        Row(6, page, " "),
        Row(7, page, "Below-empty", parent=6),
        Row(8, page, "Huge " + "words " * 10_000),
        Row(9, page, "Circle-one", parent=10),
        Row(10, page, "Circle-two", parent=9),
        Row(11, page, "Itself", parent=11),
        Row(12, page, "Unstorable a\x00b"),
        Row(13, page, "Nameless", name=""),
        Row(14, page, "Emoji \U0001f600 \u05e9\u05dc\u05d5\u05dd"),
        Row(15, page, "First", posted=datetime(2019, 1, 2, 11, 30, tzinfo=SUMMER)),
    ]
    return [row if row.id == 15 else Row(**{**vars(row), "posted": START + timedelta(minutes=row.id)}) for row in rows]


@pytest.mark.parametrize("system", sorted(WRITERS))
def test_quirks_of_each_system_lose_no_comment(system, static_site, run_import, mongo):
    if system in TABLES:
        store_pages(mongo, 1)
    out, error = run_import(system, quirky_rows(page_of(system, 0)))
    assert error == "Some comments were left out. See above."
    left_out = [line.split()[3].rstrip(":") for line in out.splitlines() if line.startswith("Left out")]
    assert left_out == ["6", "8"]
    comments = list(selectors.iterate(target_for(EmbeddedPage.objects.get())))
    by_word = {comment.source.split(" ")[0]: comment for comment in comments}
    assert list(by_word)[:4] == ["First", "Start", "Orphan", ""]
    assert len(comments) == len(by_word) == 13
    assert by_word["First"].posted == datetime(2019, 1, 2, 9, 30, tzinfo=UTC)
    assert by_word["Unstorable"].source in ("Unstorable ab", "Unstorable a\ufffdb")
    assert "\U0001f600 \u05e9\u05dc\u05d5\u05dd" in by_word["Emoji"].html
    assert by_word["Nameless"].author.name
    assert by_word["Hostile"].author.name == "<b>Eve</b> second line"
    if system != "django-comments":
        assert by_word["Below-removed"].answers == by_word[""].slug
    assert by_word["Orphan"].answers == by_word["Below-empty"].answers == by_word["Itself"].answers == ""
    tags = Tags()
    for comment in comments:
        tags.feed(comment.html)
    assert tags.names <= {"p", "a", "div", "br"}
    assert not [name for name, _value in tags.attributes if name.startswith("on")]
    assert not [value for name, value in tags.attributes if name in ("href", "src") and "javascript" in value]


@pytest.mark.parametrize("system", sorted({*WRITERS} - {*TABLES}))
def test_comments_without_an_address_are_named(system, static_site, run_import):
    rows = [Row(1, page_of(system, 0), "One"), Row(2, "", "Two")]
    out, error = run_import(system, rows)
    assert error.startswith("Nothing was imported.")
    assert "No page: " in out
    assert "(1 comments)" in out
    out, error = run_import(system, None, "--skip-unmatched")
    assert "1 discussions with 1 comments: 1 new." in out


@pytest.mark.parametrize("system", sorted(TABLES))
def test_comments_on_deleted_objects_are_named(system, static_site, run_import, mongo):
    store_pages(mongo, 1)
    rows = [Row(1, page_of(system, 0), "One"), Row(2, page_of(system, 1), "Two"), Row(3, "gone.model:7", "Three")]
    out, error = run_import(system, rows)
    assert error.startswith("Nothing was imported.")
    assert f"No page: {page_of(system, 1)} (1 comments)" in out
    assert "No page: gone.model:7 (1 comments)" in out


@pytest.mark.parametrize("system", sorted({*WRITERS} - {*TABLES, "isso"}))
def test_last_of_several_comments_with_the_same_id_counts(system, static_site, run_import, mongo):
    page = page_of(system, 0)
    run_import(system, [Row(1, page, "Old"), Row(2, page, "Other"), Row(1, page, "New")])
    assert sorted(document["source"] for document in mongo["comments"].find()) == ["New", "Other"]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("system", sorted({*WRITERS} - {"django-comments"}))
def test_deep_thread_is_folded(system, static_site, run_import, mongo):
    if system in TABLES:
        store_pages(mongo, 1)
    page, count = page_of(system, 0), 100
    rows = [
        Row(n, page, f"Text {n}", parent=n - 1 if n > 1 else None, posted=START + timedelta(minutes=n))
        for n in range(1, count + 1)
    ]
    out, _error = run_import(system, rows)
    assert f"{count} new." in out
    comments = list(selectors.iterate(target_for(EmbeddedPage.objects.get())))
    assert [comment.source for comment in comments] == [f"Text {n}" for n in range(1, count + 1)]
    assert [comment.answers for comment in comments] == ["", *(comment.slug for comment in comments[:-1])]


@pytest.mark.slow
def test_thread_of_4000_levels_is_folded(static_site, run_import, mongo):
    page = page_of("json-lines", 0)
    rows = [
        Row(n, page, f"Text {n}", parent=n - 1 if n > 1 else None, posted=START + timedelta(minutes=n))
        for n in range(1, 4_001)
    ]
    out, _error = run_import("json-lines", rows)
    assert "1 discussions with 4,000 comments: 4,000 new." in out


BROKEN_BYTES = b"caf\xe9 \xed\xa0\x80 \x08 \xc3"


@pytest.mark.parametrize("system", ["commento", "comentario", "disqus", "json-lines", "remark42"])
def test_bytes_that_are_not_utf_8_are_replaced(system, static_site, run_import, tmp_path, mongo):
    run_import(system, [Row(1, page_of(system, 0), "Broken PLACEHOLDER")], "--dry-run")
    path = tmp_path / "export"
    broken = BROKEN_BYTES if system == "disqus" else BROKEN_BYTES.replace(b"\x08", b"\\b")
    written = gzip.decompress(path.read_bytes()) if system == "remark42" else path.read_bytes()
    path.write_bytes(written.replace(b"PLACEHOLDER", broken))
    out, error = run_import(system)
    assert (error, out.splitlines()[-1]) == ("", "1 discussions with 1 comments: 1 new.")
    assert mongo["comments"].find_one()["source"].startswith("Broken caf\ufffd")


def test_declared_encoding_of_disqus_is_used(static_site, run_import, tmp_path, mongo):
    run_import("disqus", [Row(1, page_of("disqus", 0), "Caf\xe9")], "--dry-run")
    path = tmp_path / "export"
    text = path.read_text().replace('encoding="utf-8"', 'encoding="iso-8859-1"')
    path.write_bytes(text.encode("iso-8859-1"))
    run_import("disqus")
    assert mongo["comments"].find_one()["source"] == "Caf\xe9"
