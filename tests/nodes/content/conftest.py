import pytest

from cms.testing import generated
from cms.testing.build import node
from marginalia.mongo import indexes
from tests.support.nodes.content import Cookbook, Everything, Recipe, registered


@pytest.fixture
def judged(mongo):
    """Declare the remaining types to the server after the test. Use this fixture first."""
    yield
    indexes.ensure()


@pytest.fixture
def place(judged, mongo, request):
    """(The name of a type, the id of a section for its nodes), for `every_type`. The server knows all types."""
    with registered(Everything):
        indexes.ensure()
        yield request.param, generated.create_parent(request.param)


@pytest.fixture
def recipes(mongo):
    """The id of a cookbook, whose type is installed, like that of recipes."""
    with registered(Recipe, Cookbook):
        yield node("cookbook", "cooking")
