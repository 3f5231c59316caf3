"""The example of routes in the reference of content types: its classes and its template, as written."""

import re
from datetime import UTC, datetime

from icalendar import Calendar

from cms.testing.build import node
from nodes.checks import check_content
from nodes.content import get, unregister
from tests.docs.pages import blocks

PAGE = "content-types.md"
IMPORTS = """from django.db import models
from django.utils.translation import gettext_lazy as _

from nodes.content import Page
"""


def test_example_shows_a_calendar_and_a_file(mongo, client, settings, tmp_path):
    upcoming = blocks(PAGE, "reference", "Lists of upcoming dates")[0].text
    classes, template = (block.text for block in blocks(PAGE, "reference", "Routes"))
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes/season-calendar.html").write_text(template)
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path, *settings.TEMPLATES[0]["DIRS"]]}]
    # The class in this example replaces the class with the same name in the example of a list.
    concert = re.search(r"@register\nclass Concert.*", upcoming, re.S)[0]
    source = IMPORTS + classes + concert
    try:
        exec(source, {"__name__": __name__})  # noqa: S102 - the document's own
        assert check_content() == []
        season = node("season", "season", title="Season")
        for slug, title, year in (("one", "Bach; Brahms, Bruch", 2026), ("two", "Chopin", 2027)):
            starts = datetime(year, 5, 1, 18, 30, tzinfo=UTC)
            node("concert", slug, parent=season, title=title, **{"detail.starts": starts, "detail.hall": "Barn"})
        html = client.get("/season/calendar/2026").content.decode()
        assert '<a href="/season/one">Bach; Brahms, Bruch</a>, May 1, 2026' in html
        assert "/season/two" not in html
        assert re.search(r"<title>\s*Season 2026 · Marginalia\s*</title>", html)
        assert '<meta property="og:title" content="Season 2026">' in html
        file = client.get(re.search(r'href="(/[^"]*\.ics)"', html)[1])
        assert file["Content-Type"] == "text/calendar"
        _chopin, bach = Calendar.from_ical(file.content).walk("VEVENT")
        assert (bach["summary"], bach["url"]) == ("Bach; Brahms, Bruch", "http://testserver/season/one")
        assert b"DTSTART:20260501T183000Z" in file.content
        assert client.get("/season/calendar/1999").status_code == 404
        for url in ("/season/calendar/2026", "/season/calendar.ics"):
            assert client.get(url).wsgi_request.page_cache == "hit"
    finally:
        for name in ("season", "concert"):
            unregister(get(name))
