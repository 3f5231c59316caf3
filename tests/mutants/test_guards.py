"""Tests of the list of mutants: the code of each guard must occur once, and its test must exist."""

import ast

import pytest

from tests.mutants.cutting import Mutant, taken_out
from tests.mutants.guards import MUTANTS
from tests.support.site_settings import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.guard)
def test_mutant_names_code_and_test_that_exist(mutant: Mutant):
    file, *_classes, name = mutant.test.split("::") if "::" in mutant.test else (mutant.test, "")
    tests = {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}
    assert not name or name in tests
    assert taken_out(mutant, (ROOT / mutant.file).read_text())
