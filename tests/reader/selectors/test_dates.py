"""Sections that list by a date of their pages: upcoming and past ones."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import models

from cms.testing.build import node, nonce, save
from marginalia.mongo import doctor
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.checks import check_content
from nodes.content import UPCOMING, Page, Section
from reader.selectors import dates
from tests.support.commands import explain, stages
from tests.support.nodes.content import Concert, Season, registered


class Holiday(Page):
    """Has a day alone."""

    stands_in = ["holidays"]
    date_field = "day"

    day = models.DateField()


class Holidays(Section):
    """Lists holidays by their days."""

    lists = UPCOMING


@pytest.fixture
def season(mongo):
    with registered(Concert, Holiday, Season, Holidays):
        yield node("season", "season")


def concert(season, slug: str, days: int, **fields):
    detail = {f"detail.{name}": value for name, value in {"starts": now() + timedelta(days=days), **fields}.items()}
    return node("concert", slug, parent=season, **detail)


@pytest.fixture
def read(season):
    """Return a function that returns a page of the season from a cursor on, filtered by hall."""

    def read(cursor: str | None = None, hall: str = "", size: int = 2):
        wanted = [("concert", "hall", hall)] if hall else []
        return dates.by_date(season, "season", wanted, now(), size=size, cursor=cursor)

    return read


def slugs(found) -> list[str]:
    return [one.metadata.slug for one in found.nodes]


def test_upcoming_and_past_dates_are_paged_both_ways(season, read):
    for days in (5, -1, 3, -20_000, 1, -300, 400):
        concert(season, f"in-{days}".replace("--", "-minus-"), days)
    concert(season, "never", 2, starts=None)
    first = read()
    assert (slugs(first), first.older, first.is_past) == (["in-1", "in-3"], None, False)
    second = read(first.newer)
    assert (slugs(second), second.newer) == (["in-5", "in-400"], None)
    assert slugs(read(second.older)) == ["in-1", "in-3"]
    past = read("past")
    assert (slugs(past), past.newer, past.is_past) == (["in-minus-1", "in-minus-300"], None, True)
    oldest = read(past.older)
    assert (slugs(oldest), oldest.older) == (["in-minus-20000"], None)
    assert slugs(read(oldest.newer)) == ["in-minus-1", "in-minus-300"]
    for wrong in ("none", "past.", "pastpast", ">-99999999999999999.x", "past<0.$gt"):
        with pytest.raises(ValueError):
            read(wrong)


def test_event_that_starts_today_is_not_past(season, read):
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    concert(season, "this-morning", 0, starts=midnight)
    concert(season, "last-night", 0, starts=midnight - timedelta(minutes=1))
    assert (slugs(read()), slugs(read("past"))) == (["this-morning"], ["last-night"])


def test_date_field_without_a_time_works(season):
    holidays = node("holidays", "holidays")
    for day in (date.today(), date.today() - timedelta(days=1)):
        node("holiday", f"day-{day}", parent=holidays, **{"detail.day": day})
    coming = dates.by_date(holidays, "holidays", [], now(), size=1)
    assert [one.date for one in coming.nodes] == [date.today()]
    past = dates.by_date(holidays, "holidays", [], now(), size=1, cursor="past")
    assert [one.date for one in past.nodes] == [date.today() - timedelta(days=1)]


def test_page_with_a_changed_date_is_listed_there(season, read):
    made = concert(season, "moved", 3)
    save(made, nonce(made), detail__starts=datetime(2001, 1, 1, tzinfo=UTC))
    assert (slugs(read()), slugs(read("past"))) == ([], ["moved"])
    assert database()["cms.nodes"].find_one({"_id": made})["derived"]["date"] == datetime(2001, 1, 1, tzinfo=UTC)
    save(made, nonce(made), detail__starts=None)
    assert (slugs(read()), slugs(read("past"))) == ([], [])
    assert "date" not in database()["cms.nodes"].find_one({"_id": made})["derived"]


def test_date_of_a_newer_version_breaks_no_page(season, read, mongo):
    made = [concert(season, f"in-{days}", days) for days in (1, 2, 3, 4)]
    newer = {"metadata.schema_version": 2, "metadata.detail": {"begins": now()}}
    mongo["cms.nodes"].update_one({"_id": made[1]}, {"$set": newer})
    assert slugs(read(read().newer)) == ["in-3", "in-4"]


def test_lists_contain_all_fields_but_long_texts(season, read):
    concert(season, "one", 1, hall="Opera", programme="Long.", text="Longer.")
    shown = read().nodes[0].metadata.detail
    assert (shown.hall, shown.programme, shown.text) == ("Opera", "", "")


def test_lists_use_an_index(season, read, mongo, commands):
    other = node("season", "other")
    for n in range(20):
        concert(season, f"n-{n}", n - 10, hall="Opera" if n % 4 else "Barn")
        concert(other, f"o-{n}", n - 10, hall="Barn")
    with commands.recorded():
        pages = [read(cursor, hall) for hall in ("", "Barn") for cursor in (None, "past")]
        pages += [read(pages[0].newer), read(pages[3].older, "Barn")]
    assert [len(page.nodes) for page in pages] == [2, 2, 2, 2, 2, 1]
    plans = [explain(mongo, event) for event in commands.sent if "derived.date" in str(event.command)]
    assert len(plans) == len(pages)
    for one in plans:
        assert not stages(one) & {"COLLSCAN", "SORT"}, one
        # Two pages are shown. The start of the page and whether there are more is read in addition.
        assert one["executionStats"]["totalDocsExamined"] <= 4
    assert [finding for finding in doctor.examine() if finding.name.startswith("query-")] == []


def test_type_without_a_date_field_in_a_section_of_dates_warns(season):
    class Rehearsal(Page):
        stands_in = ["season"]

    class Tour(Season):
        pass

    class Stop(Page):
        stands_in = [Tour]

    with registered(Tour, Rehearsal, Stop):
        assert [(found.id, found.obj) for found in check_content()] == [("nodes.W014", Rehearsal), ("nodes.W014", Stop)]


def test_invalid_date_field_and_listing_fail_the_checks(season):
    class Fair(Page):
        date_field = "place"
        place = models.CharField(max_length=10)

    class Fairs(Section):
        lists = "by-luck"

    assert check_content() == []
    with registered(Fair, Fairs):
        assert [(error.id, error.obj) for error in check_content()] == [("nodes.E013", Fair), ("nodes.E010", Fairs)]
