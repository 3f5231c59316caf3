"""Feeds: the newest posts of a blog, whole, for feed readers."""

from datetime import datetime

from django.contrib.syndication.views import Feed
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from mongo.connection import now
from nodes import kinds, rendering, tree
from nodes.models import Node
from nodes.selectors import nodes as selectors

ENTRIES = 20


class BlogRss(Feed):
    """RSS 2.0 of one blog."""

    description_template = None

    def get_object(self, request: HttpRequest, path: str) -> Node:
        found = selectors.resolve(tree.current(), path, now())
        if found is None or found.metadata.type != kinds.BLOG:
            raise Http404
        return found

    def title(self, blog: Node) -> str:
        return blog.metadata.title

    def link(self, blog: Node) -> str:
        return blog.get_absolute_url()

    def description(self, blog: Node) -> str:
        return blog.metadata.summary or blog.metadata.title

    def items(self, blog: Node) -> tuple[Node, ...]:
        return selectors.entries(blog.pk, now(), size=ENTRIES, whole=True).nodes

    def item_title(self, entry: Node) -> str:
        return entry.metadata.title

    def item_description(self, entry: Node) -> str:
        return rendering.body(entry)

    def item_guid(self, entry: Node) -> str:
        return f"urn:marginalia:{entry.pk}"

    item_guid_is_permalink = False

    def item_pubdate(self, entry: Node) -> datetime:
        return entry.metadata.published

    def item_updateddate(self, entry: Node) -> datetime:
        return entry.metadata.updated

    def item_author_name(self, entry: Node) -> str | None:
        return entry.metadata.author.name if entry.metadata.author else None

    def item_categories(self, entry: Node) -> list[str]:
        return entry.metadata.tags


class BlogAtom(BlogRss):
    """Atom of one blog."""

    feed_type = Atom1Feed
    subtitle = BlogRss.description


FORMS = {"rss": BlogRss(), "atom": BlogAtom()}


@require_safe
def blog(request: HttpRequest, path: str, form: str) -> HttpResponse:
    """Answer a blog's feed in one of FORMS."""
    if form not in FORMS:
        raise Http404
    return FORMS[form](request, path=path)
