"""The examples of docs/reference/template-tags.md print the documented output."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.template import Context, Template
from django.test import RequestFactory

from marginalia.comments import conf
from marginalia.comments.posting import services
from marginalia.comments.templatetags.comments import register
from marginalia.comments.types import CommentAuthor
from nodes.models import Node, Photo
from nodes.selectors import stored_nodes
from tests.support.comments import site
from tests.support.nodes import photo_build

pytestmark = pytest.mark.usefixtures("mongo")
PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/template-tags.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"### (\w+)\n.*?```django\n(.*?)```\n```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(params=["nodes.node", "nodes.photo"])
def post(request, rules) -> Node | Photo:
    """The target of the examples: a post, or a photo with the same title."""
    if request.param == "nodes.node":
        return stored_nodes.get(site.entry().pk)
    return Photo.objects.get(pk=photo_build.upload(photo_build.gallery(), fields={"title": "Hello"}))


@pytest.mark.parametrize(("name", "source", "expected"), EXAMPLES, ids=[name for name, *_ in EXAMPLES])
def test_example_prints_the_documented_output(post, ann: User, name, source, expected):
    first = services.post(
        post, author=CommentAuthor("Ann", id=str(ann.pk)), source="First!", token="a", extra={"rating": 5}
    )
    first = first.comment
    services.post(post, author=CommentAuthor("Bob"), source="I *agree*.", token="b", parent=first.slug)
    context = {"post": post, "posts": [post], "pk": str(post.pk), "user": ann, "comment": first}
    context["request"] = RequestFactory().get(post.get_absolute_url())
    label = post._meta.label_lower
    html = Template("{% load comments %}" + source.replace("nodes.node", label)).render(Context(context))
    for line in expected.replace("nodes.node", label).splitlines():
        assert line in re.sub(r"\n(?=<)", "", html) or line in html


def test_every_tag_has_an_example():
    documented = {name for name, *_ in EXAMPLES}
    assert set(register.tags) - documented == {"comment_form_target"}
    assert "{% comment_form_target %}" in PAGE


def test_every_setting_is_documented():
    page = (Path(__file__).resolve().parents[2] / "docs/reference/comments-settings.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([A-Z_]+)`", page))
    assert set(conf.DEFAULTS) <= documented
