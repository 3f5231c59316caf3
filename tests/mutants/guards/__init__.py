"""The guards, each with the test that must fail without it."""

from tests.mutants.guards import comments, nodes, site

MUTANTS = (*nodes.MUTANTS, *comments.MUTANTS, *site.MUTANTS)
