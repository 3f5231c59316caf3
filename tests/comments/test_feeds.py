"""The Atom feed of a discussion, in every storage order."""

from xml.etree import ElementTree

import pytest
from django.urls import reverse

from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor

ENTRY = "{http://www.w3.org/2005/Atom}entry/{http://www.w3.org/2005/Atom}summary"


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("layout", "order"), [("documents", "oldest"), ("buckets", "oldest"), ("buckets", "threaded")])
def test_feed_contains_the_newest_comments_above_the_limit(client, post_page, rules, layout, order):
    rules(TARGETS={"nodes.node": {"LAYOUT": layout, "ORDER": order, "OPTIONS": {"CAP": 5}}})
    first = services.post(post_page, author=CommentAuthor("Ann"), source="0", token="0").comment
    for n in range(1, 60):
        services.post(
            post_page, author=CommentAuthor("Ann"), source=str(n), token=str(n), parent=first.slug if n % 2 else ""
        )
    services.remove(post_page, first.slug)
    answer = client.get(reverse("comments-feed", args=[post_page.label, post_page.pk]))
    assert answer.status_code == 200
    told = [entry.text for entry in ElementTree.fromstring(answer.content).findall(ENTRY)]
    assert told == [f"<p>{n}</p>" for n in range(59, 9, -1)]
