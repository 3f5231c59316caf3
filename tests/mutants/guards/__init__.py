"""The guards: each is missed by the test that is named for it."""

from tests.mutants.guards import comments, nodes, site

MUTANTS = (*nodes.MUTANTS, *comments.MUTANTS, *site.MUTANTS)
