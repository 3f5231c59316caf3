"""The guide to themes: the blocks, properties and variables in its tables exist, and its theme works."""

import re
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from cms.context_processors import site as shown_everywhere
from cms.management import themes
from cms.testing.build import node
from editor import extensions
from marginalia.markup.inserts.base import unregister
from nodes.content import Insert, Section, insert, route
from nodes.services.site import save_settings
from reader import page_cache
from tests.docs.pages import ROOT, blocks
from tests.support.nodes.content import registered
from tests.support.site_settings import run_python

pytestmark = pytest.mark.slow

NAME = "change-the-look.md"
PAGE = (ROOT / "docs/reference/theme.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading or a line, without its first two rows."""
    table = re.search(rf"{re.escape(heading)}\n.*?\n(\|.*?)\n(?:\n|$)", PAGE + "\n", re.DOTALL)[1]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_drawing_contains_every_block_of_the_base_templates():
    (drawing,) = [block.text for block in blocks(NAME) if block.language == "text"]
    sources = [(ROOT / path).read_text() for path in ("templates/base.html", "reader/templates/nodes/base.html")]
    names = {name for source in sources for name in re.findall(r"{% block ([\w-]+) %}", source)}
    assert names - {"language"} <= set(re.findall(r"[\w-]+", drawing))


@pytest.fixture
def theme(settings, tmp_path):
    """A folder that is the site's theme, as if it had existed at the start."""
    folder = settings.THEME_DIR = tmp_path / "theme"

    def load() -> Path:
        page_cache.storage.clear()
        options = settings.TEMPLATES[0]
        settings.TEMPLATES = [{**options, "DIRS": [folder / "templates", settings.BASE_DIR / "templates"]}]
        settings.STATICFILES_DIRS = [folder / "static", settings.BASE_DIR / "static"]
        return folder

    return load


def followed(load) -> Path:
    """Return the folder of the theme that the guide describes."""
    call_command("start_theme", verbosity=0)
    folder = load()
    css, html = ([block.text for block in blocks(NAME) if block.language == language] for language in ("css", "html"))
    for path, text in (
        ("static/theme.css", css[0]),
        ("templates/base.html", html[0]),
        ("templates/nodes/basic-page.html", html[1]),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def checked(capsys) -> list[str]:
    """Return the output lines of check_theme, and whether it found anything."""
    capsys.readouterr()
    with pytest.raises(CommandError) as ended:
        call_command("check_theme")
    assert ended.value.returncode == 1
    return capsys.readouterr().out.splitlines()


def test_every_template_and_block_is_in_the_table():
    listed = {}
    for folder, path in [
        (f, path) for f in (ROOT / "templates", ROOT / "reader/templates") for path in f.rglob("*.html")
    ]:
        name, text = str(path.relative_to(folder)), path.read_text()
        if not name.startswith("admin/"):
            extended = re.findall(r'{% extends "([^"]+)"', text)
            listed[name] = (extended, set(re.findall(r"{% block ([\w-]+)", text)))
    told = {
        named(cells[0])[0]: (named(cells[1]), set(named(cells[2]))) for cells in rows("## Templates and their blocks")
    }
    assert told == listed


def test_every_custom_property_is_in_the_table():
    sheet = re.sub(r"/\*.*?\*/", "", (ROOT / "static/site/site.css").read_text(), flags=re.DOTALL)
    told = {name for cells in rows("## Custom properties") for name in named(cells[0])}
    assert told == set(re.findall(r"(?:^|[{;\s])(--[\w-]+)\s*:", sheet))


def test_every_variable_is_in_a_table(mongo, client, rf):
    node("basic-page", "about", title="About")
    request = rf.get("/about")
    everywhere = {named(cells[0])[0] for cells in rows("These variables are available in all templates:")}
    assert everywhere == set(shown_everywhere(request))
    context = client.get("/about").context[0].flatten()
    told = {named(cells[0])[0] for cells in rows("(`nodes/base.html` and templates that extend it):")}
    assert told <= set(context)


def test_theme_made_by_the_guide_works_and_passes_the_check(mongo, client, theme, capsys):
    node("basic-page", "about", title="About us")
    assert "masthead" not in client.get("/about").content.decode()
    folder = followed(theme)
    html = client.get("/about").content.decode()
    assert '<div class="masthead"><a class="site-name" href="/">Marginalia</a></div>' in html
    assert "Something wrong on “About us”?" in html
    assert html.index("site/site.css") < html.index("theme.css")
    assert 'class="site-menu"' in html  # other files stay
    assert "masthead" in client.get("/").content.decode()
    save_settings({"accent": "#7a1f5c"}, {"accent": ""})
    html = client.get("/about").content.decode()
    assert html.index("media/look/") < html.index("theme.css")
    call_command("check_theme")
    assert "has no problems" in capsys.readouterr().out
    with pytest.raises(CommandError):
        call_command("start_theme")
    assert "masthead" in (folder / "templates/base.html").read_text()


def test_started_theme_passes_the_check(theme, capsys):
    call_command("start_theme")
    theme()
    call_command("check_theme")
    assert "has no problems" in capsys.readouterr().out


@pytest.mark.parametrize("there", themes.FILES)
def test_no_theme_is_started_over_existing_files(settings, theme, there):
    folder = settings.THEME_DIR
    (folder / there).parent.mkdir(parents=True)
    (folder / there).write_text("mine")
    with pytest.raises(CommandError, match=f"The theme was not created: .*{there} already exists"):
        call_command("start_theme")
    assert [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()] == [there]
    assert (folder / there).read_text() == "mine"


WRONG = [
    (
        "templates/base.html",
        '{% extends "base.html" %}{% block masthead %}{% endblock %}',
        "the block “masthead” doesn't exist in the extended templates.",
    ),
    (
        "templates/nodes/base.html",
        '{% extends "base.html" %}{% block content %}{% block margin %}{% endblock %}{% endblock %}',
        "the block “more” is missing. nodes/folder.html needs it.",
    ),
    ("templates/nodes/blog-post.html", "x", "the site has no such template, and the theme doesn't use it."),
    ("templates/nodes/tag.html", '{% include "nodes/_list.html" %}', "the template “nodes/_list.html” doesn't exist."),
    (
        "templates/nodes/tag.html",
        '{% load static %}{% static "gone.css" %}',
        "the static file “gone.css” doesn't exist.",
    ),
    ("templates/nodes/tag.html", "{% block x %}", "Unclosed tag on line 1: 'block'. Looking for one of: endblock."),
    ("static/theme.css", ".a { color: var(--acent); }", "“--acent” is used, but never set."),
    ("static/theme.css", ":root { --acent: red; }", "“--acent” is set, but never used."),
]


def test_problems_of_a_theme_are_reported(theme, capsys):
    folder = followed(theme)
    for path, text, words in WRONG:
        before = (folder / path).read_text() if (folder / path).exists() else None
        (folder / path).write_text(text)
        assert f"{path}: {words}" in checked(capsys)
        (folder / path).unlink() if before is None else (folder / path).write_text(before)
    (folder / "templates/binary.html").write_bytes(b"\x00\xff")
    assert "templates/binary.html: it is not UTF-8 text." in checked(capsys)
    (folder / "templates/binary.html").unlink()
    (folder / "templates/.DS_Store").write_bytes(b"\x00\xff")  # hidden files are ignored
    call_command("check_theme")


def test_templates_that_apps_use_pass_the_check(theme, capsys):
    class Fair(Section):
        stands_in = ["folder"]

        @route("calendar")
        def calendar(self, request): ...

        @route("stalls", template="fairs/stalls.html")
        def stalls(self, request): ...

    class Visitors(extensions.Panel):
        template = "fairs/visitors.html"

    class FairAdmin(extensions.ContentAdmin):
        content_types = [Fair]
        panels = [extensions.FieldGroup("Texts", ["text"]), Visitors]

    class Sales(extensions.DashboardTile):
        template = "fairs/sales.html"

    class Stall(Insert):
        template = "fairs/stall.html"

    folder = followed(theme)
    names = ["nodes/fair-calendar.html", *(f"fairs/{name}.html" for name in ("stalls", "visitors", "sales", "stall"))]
    (folder / "templates/fairs").mkdir()
    for name in names:
        (folder / "templates" / name).write_text("x")
    unused = [f"templates/{name}: the site has no such template, and the theme doesn't use it." for name in names]
    assert set(unused) <= set(checked(capsys))
    extensions.register(FairAdmin)
    extensions.register(Sales)
    insert("stall")(Stall)
    try:
        with registered(Fair):
            call_command("check_theme")
    finally:
        unregister("stall")
        extensions.unregister(FairAdmin)
        extensions.unregister(Sales)


def test_check_without_a_theme_exits_with_2(settings, tmp_path):
    settings.THEME_DIR = tmp_path / "none"
    with pytest.raises(CommandError) as ended:
        call_command("check_theme")
    assert ended.value.returncode == 2


def test_theme_folder_is_found_and_survives_an_upgrade(tmp_path):
    assert "/theme/" in (ROOT / ".gitignore").read_text().splitlines()
    environment = {"VAR_DIR": str(tmp_path / "var"), "THEME": str(tmp_path / "theme")}
    refused = run_python(environment, "manage.py", "check_theme")
    assert refused.returncode != 0
    assert "THEME must be an existing folder" in refused.stderr
    for name, text in themes.FILES.items():
        (tmp_path / "theme" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "theme" / name).write_text(text)
    answer = run_python(environment, "manage.py", "check_theme")
    assert (answer.returncode, answer.stderr) == (0, "")


def test_theme_files_are_hashed_and_override_others(tmp_path):
    environment = {"VAR_DIR": str(tmp_path / "var"), "THEME": str(tmp_path / "theme")}
    shutil.copytree(ROOT / "static/site", tmp_path / "theme/static/site")
    (tmp_path / "theme/static/site/site.css").write_text("body { color: red; }")
    assert run_python(environment, "manage.py", "collectstatic", "--noinput").returncode == 0
    made = list((tmp_path / "var/static/site").glob("site.*.css"))
    assert [path.read_text() for path in made] == ["body { color: red; }"]
