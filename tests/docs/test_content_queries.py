"""The examples of queries in the reference of content types work as described."""

import re
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest
from django.db import models
from django.http import Http404
from django.template import Context, engines
from django.test import RequestFactory
from django.utils import timezone
from django.utils.translation import gettext_lazy

from cms.testing.build import node
from marginalia.mongo.doctor import HotQuery
from nodes.checks import check_content
from nodes.content import unregister
from nodes.models import tree

PAGE = Path(__file__).parents[2] / "docs/reference/content-types.md"


def examples(heading: str, language: str) -> list[str]:
    """Return the examples in a section of the page and in its subsections."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.S)


@pytest.fixture
def concerts(mongo, monkeypatch):
    """The module of the content types in the examples, and a season with concerts."""
    module = ModuleType("oursite.content")
    vars(module).update({"models": models, "_": gettext_lazy})
    declared, *_rest = examples("Lists of upcoming dates", "py")
    indexes = next(code for code in examples("Queries", "py") if code.startswith("indexes"))
    exec(declared + "    " + indexes, vars(module))  # noqa: S102
    monkeypatch.setitem(sys.modules, "oursite", ModuleType("oursite"))
    monkeypatch.setitem(sys.modules, "oursite.content", module)
    tree.clear()
    season = node("season", "season")
    for number in (-2, 1, 2):
        starts = timezone.now() + timedelta(days=number)
        node("concert", f"concert-{number}", parent=season, **{"detail.starts": starts, "detail.hall": "Hall 1"})
    yield module
    for name in ("Concert", "Season"):
        unregister(vars(module)[name])
    tree.clear()


def run(code: str) -> dict:
    names: dict = {"__name__": __name__}
    exec(code, names)  # noqa: S102
    return names


def test_examples_list_concerts(concerts, monkeypatch):
    assert check_content() == []
    tag, view, _indexes, registered = examples("Queries", "py")
    libraries = engines["django"].engine.template_libraries
    monkeypatch.setitem(libraries, "concerts", run(tag)["register"])
    (template,) = examples("Queries", "django")
    html = engines["django"].engine.from_string(template).render(Context())
    assert html.count("<li>") == 2
    assert html.index('<a href="/season/concert-1">Concert-1</a>') < html.index("/season/concert-2")
    (query,) = run(registered)["HOT_QUERIES"]
    assert isinstance(query, HotQuery)
    view = run(view)["concerts"]
    shown = []
    monkeypatch.setitem(view.__globals__, "render", lambda request, template, context: shown.append(context["page"]))
    view(RequestFactory().get("/"))
    assert [concert.title for concert in shown[0]] == ["Concert--2", "Concert-1", "Concert-2"]
    with pytest.raises(Http404):
        view(RequestFactory().get("/?from=x"))
