from datetime import timedelta

import pytest

from cms.testing.build import node
from marginalia.mongo.clock import now


@pytest.fixture
def post(mongo):
    """The id of a public post at /blog/post."""
    blog = node("blog", "blog", published=now() - timedelta(days=2))
    return node("blog-entry", "post", parent=blog, text="First text", published=now() - timedelta(days=1))
