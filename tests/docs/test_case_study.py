"""docs/internals/case-study.md: each function that it names exists."""

import re
from pathlib import Path

import pytest
from django.utils.module_loading import import_string

TEXT = (Path(__file__).parents[2] / "docs/internals/case-study.md").read_text()
NAMES = sorted(set(re.findall(r"`(marginalia\.comments\.[\w.]+)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_named_function_exists(name):
    head, _, last = name.rpartition(".")
    try:
        assert callable(import_string(name))
    except ImportError:
        assert callable(getattr(import_string(head), last))


def test_every_operation_has_a_function():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 16
    assert all("`marginalia.comments." in row.split("|")[2] for row in rows)
