"""docs/how-to/build-a-site.md, followed in a virtual environment with the built wheels and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from marginalia.local.ports import free_port
from tests.docs.pages import ROOT, blocks
from tests.support.clone import copy_clone
from tests.support.processes import until

pytestmark = pytest.mark.slow
PAGE = "build-a-site.md"
OLD, NEW = "0.1.dev1", "0.1.dev2"
QUIET = ["--quiet", "--disable-pip-version-check"]
CREATE_AN_EVENT = """
from datetime import UTC, datetime
from cms.testing.build import node
blog = node("blog", "programme")
starts = {"detail.starts": datetime(2031, 5, 4, 18, tzinfo=UTC), "detail.place": "Reading room"}
node("event", "evening", parent=blog, title="An evening of letters", **starts)
"""
READ_THE_EVENT = """
from django.test import Client
print(Client(headers={"host": "localhost"}).get("/programme/evening").content.decode())
"""


def build_wheels(clone: Path, version: str, target: Path) -> None:
    """Build both packages with a version, as `make package` does."""
    for folder in (clone, clone / "package"):
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(folder)]
        done = subprocess.run(
            command, env={**os.environ, "SETUPTOOLS_SCM_PRETEND_VERSION": version}, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout.decode()[-3000:]


class Site:
    """A site's folder with its own virtual environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / ".venv/bin/python"
        # Without the variables of this run, such as the URI of its MongoDB server.
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder)}

    def run(self, *words: str | Path, code: int = 0, **changes: str) -> str:
        """Run a command in the folder, and return its output."""
        done = subprocess.run(
            words, cwd=self.folder, env=self.env | changes, capture_output=True, text=True, check=False, timeout=400
        )
        assert done.returncode == code, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout + done.stderr

    def manage(self, *words: str, **options: Any) -> str:
        return self.run(self.python, "manage.py", *words, **options)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clone, target = copy_clone(tmp_path_factory.mktemp("clone")), tmp_path_factory.mktemp("wheels")
    for version in (OLD, NEW):
        build_wheels(clone, version, target)
    return target


@pytest.fixture(scope="module")
def site(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site as the guide creates it, with the older version and an own content type."""
    site = Site(tmp_path_factory.mktemp("site"))
    subprocess.run([sys.executable, "-m", "venv", site.folder / ".venv"], check=True)
    site.run(site.python, "-m", "pip", "install", *QUIET, "--find-links", wheels, f"marginalia-cms[mongod,test]=={OLD}")
    (start,) = [words.split() for block in blocks(PAGE) for words in block.typed() if "marginalia start" in words]
    assert "Created the site" in site.run(*start)
    declaration, template = [block.text for block in blocks(PAGE) if block.language in ("py", "django")][:2]
    (site.folder / "oursite/content.py").write_text(declaration)
    (site.folder / "theme/templates/nodes").mkdir(parents=True)
    (site.folder / "theme/templates/nodes/event.html").write_text(template)
    return site


def test_new_site_passes_its_checks_and_its_own_tests(site: Site) -> None:
    site.manage("check", "--fail-level", "WARNING")
    site.manage("check_theme")
    site.manage("makemigrations", "--check", "--dry-run")
    assert "2 passed" in site.run("make", "test")
    assert not (site.folder / "var/mongod").exists()  # the tests didn't touch the site's own data


def test_packages_do_not_land_in_site_packages(site: Site) -> None:
    (packages,) = (site.folder / ".venv/lib").glob("*/site-packages")
    assert {"marginalia", "marginalia_cms"} <= {path.name for path in packages.iterdir()}
    assert not {"api", "cms", "editor", "nodes", "photos", "reader"} & {path.name for path in packages.iterdir()}


def test_site_is_served_and_upgraded_with_its_content(site: Site, wheels: Path) -> None:
    port = str(free_port())
    process = subprocess.Popen(
        ["make", "run"], cwd=site.folder, env=site.env | {"PORT": port}, stdout=subprocess.PIPE, text=True
    )
    try:
        seen = []
        until(lambda: seen.append(process.stdout.readline()) or "The site is up" in seen[-1], seconds=120)
    finally:
        process.terminate()
        process.wait(60)
    site.manage("shell", "-c", CREATE_AN_EVENT)
    assert "Reading room" in site.manage("shell", "-c", READ_THE_EVENT)

    requirements = site.folder / "requirements.txt"
    requirements.write_text(requirements.read_text().replace(OLD, NEW))
    site.run(site.python, "-m", "pip", "install", *QUIET, "-U", "--find-links", wheels, "-r", requirements)
    assert f"Marginalia {NEW} " in site.manage("--version")
    site.manage("check", "--database", "default")
    assert "Reading room" in site.manage("shell", "-c", READ_THE_EVENT)
    assert "2 passed" in site.run("make", "test")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("two-words", "'two-words' is not a valid project name"),
        ("nodes", "'nodes' conflicts with the name of an existing Python module"),
        ("tests", "A site's package can't have the name tests"),
        ("conftest", "A site's package can't have the name conftest"),
        ("class", "A site's package can't have the name class"),
    ],
)
def test_unusable_name_is_refused(site: Site, tmp_path: Path, name: str, said: str) -> None:
    output = site.run(site.folder / ".venv/bin/marginalia", "start", name, tmp_path, code=2)
    assert said in re.sub(r"\s+", " ", output)
    assert list(tmp_path.iterdir()) == []


def test_existing_files_are_not_replaced(site: Site, tmp_path: Path) -> None:
    (tmp_path / "manage.py").write_text("mine")
    output = site.run(site.folder / ".venv/bin/marginalia", "start", "another", tmp_path, code=2)
    assert "The folder already contains manage.py. Choose another folder. Nothing was written." in output
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_types_are_checked_with_those_of_marginalia(site: Site) -> None:
    assert "Success: no issues found" in site.run("make", "types")
    content = site.folder / "oursite/content.py"
    declaration = content.read_text()
    content.write_text(declaration.replace("stands_in = [Blog]", "stands_in = 7"))
    try:
        assert "oursite/content.py:10: error: Incompatible types in assignment" in site.run("make", "types", code=2)
    finally:
        content.write_text(declaration)


def test_debug_toolbar_shows_the_commands_of_a_page(site: Site) -> None:
    (pin,) = [line for line in (ROOT / "requirements-dev.txt").read_text().splitlines() if "toolbar" in line]
    site.run(site.python, "-m", "pip", "install", *QUIET, pin)
    settings, urls = site.folder / "oursite/settings.py", site.folder / "oursite/urls.py"
    before = settings.read_text(), urls.read_text()
    (own,) = [block.text for block in blocks(PAGE) if "DEBUG_TOOLBAR_PANELS" in block.text]
    imported = "from debug_toolbar.toolbar import debug_toolbar_urls\n"
    settings.write_text(f"{before[0]}\n{own}")
    urls.write_text(imported + before[1].replace("urlpatterns = [", "urlpatterns = [*debug_toolbar_urls(),"))
    try:
        page = site.manage("shell", "-c", READ_THE_EVENT, DEBUG="on")
    finally:
        settings.write_text(before[0])
        urls.write_text(before[1])
    assert 'id="djDebugRoot"' in page
    assert re.search(r"\d+ commands? in \d+\.\d ms", page)
