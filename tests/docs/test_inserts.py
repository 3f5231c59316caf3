"""The guide to adding an insert: its class and its template, as written."""

import re
from pathlib import Path
from textwrap import dedent

from marginalia.markup.inserts import base
from marginalia.markup.inserts.reading import TextInserts
from nodes import rendering
from photos import texts

PAGE = Path(__file__).parents[2] / "docs/how-to/extend.md"
GUIDE = Path(__file__).parents[2] / "docs/reference/formatting.md"


def test_example_works(mongo, settings, tmp_path):
    section = PAGE.read_text().partition("\n## Add an insert\n")[2].partition("\n## ")[0]
    code, template = (dedent(block) for block in re.findall(r"```(?:python|html)\n(.*?)```", section, re.S))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/hours.html").write_text(template)
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path, *settings.TEMPLATES[0]["DIRS"]]}]
    try:
        exec(code, {"__name__": "shop.content"})  # noqa: S102 - the document's own
        html = rendering.to_html("::hours{opens=09:00 closes=17:30}\n\n::hours{opens=x closes=17:30}", "markdown")
        assert '<p class="hours"><strong>Monday to Friday</strong> 09:00–17:30</p>' in texts.render_for_readers(html)
        assert [str(fault) for fault in TextInserts(html).faults] == ["Line 3: “hours”, opens: Enter a valid time."]
        assert "Monday to Friday" in TextInserts(html).plain()
    finally:
        base.unregister("hours")


def test_guide_lists_every_shipped_insert():
    told = re.findall(r"^\| `:{2,3}([a-z]+)", GUIDE.read_text(), re.M)
    assert sorted(told) == sorted(
        made.name for made in base.registered_inserts() if made.__module__.startswith("marginalia.")
    )
