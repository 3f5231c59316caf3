"""A section that lists by a date of its pages."""

import re
from datetime import timedelta

import pytest

from cms.testing.build import node
from marginalia.mongo.clock import now
from tests.support.nodes.content import Concert, Season, registered


@pytest.fixture
def read(mongo, client):
    """Return a function that returns the page of a season for a query."""
    with registered(Concert, Season):
        season = node("season", "season")
        for slug, days, hall in (
            ("soon", 3, "Barn"),
            ("later", 40, "Opera"),
            ("latest", 80, "Barn"),
            ("gone", -3, "Barn"),
        ):
            detail = {"detail.starts": now() + timedelta(days=days), "detail.hall": hall}
            node("concert", slug, parent=season, **detail)
        yield lambda query="": client.get(f"/season?{query}")


def test_event_is_past_after_midnight(mongo, client, monkeypatch):
    """Also on a page that was cached before."""

    def at(moment):
        for place in ("reader.page_cache.entries.now", "reader.page_cache.middleware.now", "reader.views.pages.now"):
            monkeypatch.setattr(place, lambda: moment)

    day = now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=2)
    with registered(Concert, Season):
        detail = {"detail.starts": day + timedelta(hours=20), "detail.hall": "Barn"}
        node("concert", "tonight", parent=node("season", "season"), **detail)
        at(day + timedelta(hours=23, minutes=59))
        assert "/season/tonight" in client.get("/season").content.decode()
        at(day + timedelta(days=1, minutes=5))
        assert "/season/tonight" not in client.get("/season").content.decode()


def test_upcoming_events_are_grouped_by_month(read):
    html = read().content.decode()
    month = f"{now() + timedelta(days=3):%B %Y}"
    places = [html.index(piece) for piece in (f">{month}</h2>", "/season/soon", "/season/later", ">Later</a>")]
    assert places == sorted(places)
    assert "/season/gone" not in html
    assert "/season/latest" not in html


def test_later_events_are_on_the_next_page(read):
    html = read().content.decode()
    assert re.findall(r'<link rel="(prev|next)"', html) == ["next"]
    assert re.findall(r'<link rel="(prev|next)"', read("from=past").content.decode()) == []


def test_past_events_are_listed_separately(read):
    html = read("from=past").content.decode()
    assert "/season/gone" in html
    assert "/season/soon" not in html
    assert 'rel="canonical" href="http://testserver/season?from=past"' in html


def test_both_lists_are_filtered_by_facets(read):
    assert "/season/later" not in read("hall=Barn").content.decode()
    assert "/season/soon" in read("hall=Barn").content.decode()
    html = read("hall=Barn&from=past").content.decode()
    assert "/season/gone" in html
    assert 'href="/season?hall=Barn"' in html
    assert "No pages match all these filters." in read("hall=Opera&from=past").content.decode()


def test_undated_event_is_neither_listed_nor_counted(mongo, client):
    with registered(Concert, Season):
        season = node("season", "season")
        for slug, starts in (("dated", now() + timedelta(days=1)), ("undated", None)):
            node("concert", slug, parent=season, **{"detail.starts": starts, "detail.hall": "Barn"})
        for query in ("", "?hall=Barn"):
            html = client.get(f"/season{query}").content.decode()
            assert 'Barn <span class="count">1</span>' in html
            assert "/season/undated" not in html


def test_invalid_position_returns_404(read):
    assert read("from=pastx").status_code == 404
    assert read("from=past").status_code == 200
