"""Search quality: how often the right page is the first result, or among the first three."""

import os
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from django.core.management import call_command

from cms.demo import loading
from marginalia.mongo.clock import now
from nodes.models import tree
from nodes.selectors import search

QUESTIONS = Path(__file__).with_name("questions.toml")
# The WordPress export is not part of this repository. Set this variable to its path to measure its questions, too.
EXPORT = os.environ.get("WORDPRESS_EXPORT", "")
FIRST, AMONG_THREE = 0.90, 0.97


def questions(corpus: str) -> list[dict[str, Any]]:
    every = tomllib.loads(QUESTIONS.read_text())["question"]
    return [question for question in every if question["corpus"] == corpus]


def paths(query: str) -> list[str]:
    """Return the paths of all results for a query, best first."""
    results = search.search(tree.current(), query, now(), page=1, size=search.MOST)
    return [unquote(hit.node.get_absolute_url()) for hit in results.hits]


def expected(pages: list[Any]) -> set[str]:
    return {page["path"] for page in pages}


def failures(corpus: str) -> tuple[list[str], list[str]]:
    """Return the questions whose right page isn't the first result, and those for which it isn't among three results.

    A question whose results contain a page that must be absent is in both lists.
    """
    not_first = []
    not_three = []
    for question in questions(corpus):
        found = paths(question["query"])
        right = expected(question.get("first", []))
        rank = next((place for place, path in enumerate(found) if path in right), len(found) + 3) if right else 0
        has_wrong = bool(expected(question.get("absent", [])) & set(found))
        if rank or has_wrong:
            not_first.append(question["query"])
        if rank > 2 or has_wrong:
            not_three.append(question["query"])
    return not_first, not_three


def check(corpus: str) -> None:
    not_first, not_three = failures(corpus)
    count = len(questions(corpus))
    assert len(not_first) <= (1 - FIRST) * count, not_first
    assert len(not_three) <= (1 - AMONG_THREE) * count, not_three


@pytest.fixture
def loaded_demo(mongo) -> None:
    loading.load(now(), lambda: None)


@pytest.mark.slow
def test_demo_questions_find_the_right_page(loaded_demo):
    check("demo")


@pytest.mark.slow
@pytest.mark.skipif(not EXPORT, reason="WORDPRESS_EXPORT isn't set")
def test_import_questions_find_the_right_page(mongo):
    call_command("import_wordpress", EXPORT, stdout=StringIO())
    check("import")
