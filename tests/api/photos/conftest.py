import pytest

from api.rights.scopes import Scope
from tests.support.nodes import photo_build


@pytest.fixture
def gallery(mongo):
    return photo_build.gallery("plates", title="Plates")


@pytest.fixture
def editor(account, asker):
    return asker(account("ed", "Editors"), Scope.PUBLISH)


@pytest.fixture
def author(account, asker):
    return asker(account("ann", "Authors"), Scope.WRITE)
