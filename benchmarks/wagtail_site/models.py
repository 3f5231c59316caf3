"""A post with the fields of our API, and the context of its page."""

from typing import Any

from django.db import models
from django.http import HttpRequest
from modelcluster.contrib.taggit import ClusterTaggableManager
from modelcluster.fields import ParentalKey
from taggit.models import TaggedItemBase
from wagtail.api import APIField
from wagtail.fields import RichTextField
from wagtail.models import Page


class PostTag(TaggedItemBase):
    """A tag on a post."""

    content_object = ParentalKey("Post", on_delete=models.CASCADE, related_name="tagged_items")


class Post(Page):
    """A blog post with a summary, an author and tags."""

    summary = models.TextField(blank=True)
    author = models.CharField(max_length=200, blank=True)
    body = RichTextField()
    tags = ClusterTaggableManager(through=PostTag, blank=True)

    api_fields = [APIField("summary"), APIField("author"), APIField("tags"), APIField("body")]

    def get_context(self, request: HttpRequest, *args: Any, **kwargs: Any) -> dict[str, Any]:
        siblings = Page.objects.live().sibling_of(self, inclusive=False)
        published = self.first_published_at
        return {
            **super().get_context(request, *args, **kwargs),
            "breadcrumbs": self.get_ancestors().live().filter(depth__gt=1),
            "newer": siblings.filter(first_published_at__gt=published).order_by("first_published_at").first(),
            "older": siblings.filter(first_published_at__lt=published).order_by("-first_published_at").first(),
        }

    def get_absolute_url(self) -> str:
        """Return the URL that comments link to."""
        return str(self.get_url())
