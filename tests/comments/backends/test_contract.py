"""The contract, for the specification and for discussions with one document per comment, in each native order."""

import pytest

from marginalia.comments.types import Target
from tests.comments.backends.contract_of_queues import QueueContract
from tests.comments.backends.contract_of_sites import SiteContract
from tests.comments.backends.contract_on_mongodb import OnMongoDB
from tests.comments.backends.specification import Specification


class TestSpecification(QueueContract, SiteContract):
    @pytest.fixture
    def backend(self):
        return Specification()

    @pytest.fixture
    def targets(self):
        return [Target("auth.user", str(n)) for n in range(3)]


class TestDocuments(OnMongoDB):
    pass


@pytest.mark.slow
class TestDocumentsThreaded(OnMongoDB):
    order = "threaded"
