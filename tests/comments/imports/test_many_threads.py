"""Exports with many discussions arrive complete and once, from each system, also if the import is killed."""

import random
from datetime import timedelta

import pytest

from marginalia.comments.imports.records import SourceState
from marginalia.comments.imports.sources import TABLES
from tests.comments.imports.conftest import check_database, contents, page_of, store_pages
from tests.comments.imports.writers import START, STATES, WRITERS, Row
from tests.support.crashing import killed_after_writes

QUICK, MANY, VERY_MANY = 40, 1_000, 10_000


def thread_rows(system: str, threads: int) -> list[Row]:
    """Return a comment and a reply for each thread. Some replies have another state than public."""
    others = [SourceState.REMOVED, *sorted(STATES[system])]
    rows = []
    for number in range(threads):
        page, posted = page_of(system, number), START + timedelta(minutes=number)
        state = others[number // 5 % len(others)] if number % 5 == 0 else SourceState.PUBLIC
        first = 2 * number + 1
        rows.append(Row(first, page, f"Text {first}", posted=posted))
        reply_posted = posted + timedelta(seconds=30)
        rows.append(Row(first + 1, page, f"Text {first + 1}", parent=first, state=state, posted=reply_posted))
    return rows


@pytest.mark.parametrize("threads", [QUICK, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("system", sorted(WRITERS))
def test_each_system_is_imported_once(system, threads, static_site, run_import, mongo):
    rows = thread_rows(system, threads)
    if system in TABLES:
        store_pages(mongo, threads)
    total = f"{threads:,} discussions with {2 * threads:,} comments"
    out, error = run_import(system, rows, "--dry-run")
    assert (error, out.splitlines()[-1]) == ("", f"Dry run: would import {total}.")
    assert mongo["comments"].count_documents({}) == 0
    out, error = run_import(system)
    assert (error, out.splitlines()[-1]) == ("", f"{total}: {2 * threads:,} new.")
    check_database(mongo, rows, has_parents=system != "django-comments")
    before = contents(mongo)
    out, error = run_import(system)
    assert (error, out.splitlines()[-1]) == ("", f"{total}: 0 new.")
    assert contents(mongo) == before


@pytest.mark.parametrize(
    ("system", "threads", "writes"),
    [
        ("json-lines", QUICK, 5),
        *(pytest.param(system, VERY_MANY, 400, marks=pytest.mark.slow) for system in sorted(WRITERS)),
    ],
)
def test_import_killed_ten_times_is_completed(system, threads, writes, static_site, run_import, tmp_path, mongo):
    rows = thread_rows(system, threads)
    if system in TABLES:
        store_pages(mongo, threads)
    WRITERS[system](tmp_path / "export", rows)
    chance = random.Random(threads)
    # The first imports are killed early. Otherwise, the others would have too little left to write.
    limits = [1 + writes * number // 10 for number in range(10)]
    kills = sum(killed_after_writes(chance.randrange(limit), lambda: run_import(system)) for limit in limits)
    assert kills >= 5
    _out, error = run_import(system)
    assert error == ""
    check_database(mongo, rows, has_parents=system != "django-comments")
    before = contents(mongo)
    out, _error = run_import(system)
    assert out.splitlines()[-1] == f"{threads:,} discussions with {2 * threads:,} comments: 0 new."
    assert contents(mongo) == before
