"""The exact number of MongoDB commands of each page, so that every additional command is a decision."""

import pytest

from cms.testing.build import node
from marginalia.comments.posting import services as comments
from marginalia.comments.types import CommentAuthor
from marginalia.mongo.clock import now
from nodes import rendering
from nodes.models import Node, tree, version_cache
from reader import page_cache
from tests.support.nodes import photo_build

# By page: in a new worker, again without the page cache, from the page cache, and with the entity tag.
COMMANDS = {
    "/blog/post": (12, 4, 1, 1),
    "/blog/post?comments=oldest": (12, 4, 1, 1),
    "/gallery/lake": (9, 3, 1, 1),
    "/": (8, 4, 1, 1),
    "/blog": (8, 3, 1, 1),
    "/folder": (7, 3, 1, 1),
    "/folder/page": (6, 2, 1, 1),
    "/tag/paper": (8, 4, 1, 1),
    "/author/ann": (10, 3, 1, 1),
    "/blog/archive": (7, 2, 1, 1),
    "/feed/atom": (7, 2, 1, 1),
    "/sitemap.xml": (8, 1, 1, 1),
    "/sitemap-blog-entry-1.xml": (6, 2, None, None),
    "/search?q=margin": (14, 9, None, None),
}


@pytest.fixture
def site(mongo):
    blog, folder = node("blog", "blog"), node("folder", "folder")
    for number in range(3):
        node("blog-entry", f"post-{number}", parent=blog, tags=("paper",))
    post = node("blog-entry", "post", parent=blog, tags=("paper",), text="In the margin", published=now())
    node("basic-page", "page", parent=folder)
    photo_build.upload(photo_build.gallery(), name="lake.jpg", title="Lake")
    for number in range(3):
        comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Yes", token=f"{number}" * 16)


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("path", COMMANDS)
def test_page_costs_no_more_than_its_budget_of_commands(site, client, commands, path):
    def counted(**headers: str) -> int:
        with commands.recorded():
            answer = client.get(path, headers=headers)
        assert answer.status_code == (304 if headers else 200)
        return len(commands)

    version_cache.clear()
    rendering.saved.cache_clear()
    tree.clear()
    first = counted()
    page_cache.storage.clear()
    again = counted()
    from_cache = counted() if page_cache.storage.cache.size else None
    etag = client.get(path).headers.get("ETag")
    unchanged = counted(**{"if-none-match": etag}) if etag else None
    assert (first, again, from_cache, unchanged) == COMMANDS[path], path
