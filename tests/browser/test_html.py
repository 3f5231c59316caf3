"""The Nu HTML checker finds no error on any page of readers and editors."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Response

from nodes.services.site import save_settings
from tests.browser import pages

JAR = Path(__file__).parents[2] / "node_modules" / "vnu-jar" / "build" / "dist" / "vnu.jar"

# The standard allows `blocking` for this link, but the checker doesn't know it yet.
VALID = re.compile(
    r"A “link” element with a “blocking” attribute .*: .*<link rel=\"expect\" href=\"#[\w-]+\" blocking=\"render\">"
)


@pytest.fixture
def site(mongo, rules) -> pages.Site:
    return pages.build()


def errors(folder: Path) -> list[str]:
    """Return the errors that the checker finds in the pages of a folder. A missing checker fails the test."""
    java = shutil.which("java")
    assert java, "The slow tests need Java: on Debian, apt-get install default-jre-headless"
    assert JAR.exists(), "The tests need the Nu HTML checker: `make checkers` installs it."
    command = [java, "-Xss2m", "-jar", str(JAR), "--format", "json", "--exit-zero-always", "--errors-only", str(folder)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = [
        f"{message['url'].rpartition('/')[2]}: {message['message']}: {' '.join(message.get('extract', '').split())}"
        for message in json.loads(told)["messages"]
    ]
    return [error for error in found if not VALID.search(error)]


@pytest.mark.slow
def test_pages_are_valid_html(browsing, account, site, tmp_path):
    def keep(person: Page, scenes: dict[str, Callable[..., Response]], theme: str = "") -> None:
        for name, go in scenes.items():
            answer = go(person, site)
            assert answer.headers["content-type"].startswith("text/html")
            (tmp_path / f"{name.replace(' ', '-')}{theme}.html").write_bytes(answer.body())

    keep(browsing(), pages.READERS)
    keep(browsing(account("ann")), pages.EDITORS)
    save_settings({"theme": "documentation"}, {"theme": "magazine"})
    keep(browsing(), pages.DOCUMENTATION, "-of-documentation")
    assert len(list(tmp_path.iterdir())) == len(pages.READERS) + len(pages.EDITORS) + len(pages.DOCUMENTATION)
    assert not errors(tmp_path), "\n".join(errors(tmp_path))


@pytest.mark.slow
def test_checker_finds_an_error(tmp_path):
    (tmp_path / "wrong.html").write_text("<!doctype html><title>Wrong</title><p><div id=a></div></p><i id=a></i>")
    assert any("Duplicate ID" in error for error in errors(tmp_path))
