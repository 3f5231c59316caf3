"""A post, with what the API of ours tells of one."""

from django.db import models
from modelcluster.contrib.taggit import ClusterTaggableManager
from modelcluster.fields import ParentalKey
from taggit.models import TaggedItemBase
from wagtail.api import APIField
from wagtail.fields import RichTextField
from wagtail.models import Page


class PostTag(TaggedItemBase):
    content_object = ParentalKey("Post", on_delete=models.CASCADE, related_name="tagged_items")


class Post(Page):
    summary = models.TextField(blank=True)
    author = models.CharField(max_length=200, blank=True)
    body = RichTextField()
    tags = ClusterTaggableManager(through=PostTag, blank=True)

    api_fields = [APIField("summary"), APIField("author"), APIField("tags"), APIField("body")]
