"""The words that the glossary keeps out of the source: who or what acts is named."""

import re

import pytest

from tests.support.site_settings import ROOT

PACKAGES = ("api", "benchmarks", "cms", "comments", "local", "markup", "mongo", "nodes", "tools", "wordpress")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
KEPT_OUT = re.compile(r"\b(?:some(?:body|one)|nobody|whoever|meanwhile|late(?:ly)?)\b", re.IGNORECASE)


@pytest.mark.parametrize("word", ["nobody", "Somebody's", "whoever", "too late", "lately", "NOBODY"])
def test_a_word_is_found(word):
    assert KEPT_OUT.search(f"x {word} y")


@pytest.mark.parametrize("word", ["later", "no one else", "translate", "related"])
def test_a_word_is_not_taken_for_another(word):
    assert not KEPT_OUT.search(f"x {word} y")


def test_the_source_names_who_acts():
    assert SOURCES
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if KEPT_OUT.search(line)
    ]
    assert found == []
