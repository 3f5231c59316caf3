"""docs/explanation/security.md: each test that it names is there, and what the matrices of promises need is said."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/explanation/security.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))


def functions(file: Path) -> set[str]:
    """Return the names of the test functions of a file."""
    tree = ast.parse(file.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_named_test_is_there(file, name):
    assert name in functions(ROOT / file)


def test_every_promise_names_a_test():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| Promise")]
    assert len(rows) >= 20
    assert all("`tests/" in row.split("|")[2] for row in rows)


def test_every_mutant_names_a_test():
    from tests.mutants.cutting import taken_out
    from tests.mutants.guards import MUTANTS

    assert len(MUTANTS) >= 10
    for mutant in MUTANTS:
        file, *_classes, name = mutant.test.split("::") if "::" in mutant.test else (mutant.test, "")
        assert not name or name in functions(ROOT / file), mutant.guard
        assert taken_out(mutant, (ROOT / mutant.file).read_text()), "the code that it takes out is there, once"
