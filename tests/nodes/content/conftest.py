import pytest

from tests.support.nodes.build import node
from tests.support.nodes.content import Cookbook, Recipe, registered


@pytest.fixture
def recipes(mongo):
    """The id of a cookbook, whose type is installed, as that of recipes is."""
    with registered(Recipe, Cookbook):
        yield node("cookbook", "cooking")
