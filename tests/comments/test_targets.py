"""Objects with discussions: only registered models, and only objects that readers can see."""

import pytest
from django.contrib.auth.models import Group
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.template import Context, Template, TemplateSyntaxError
from django.urls import reverse

from cms.comments import live_nodes
from marginalia import comments
from marginalia.comments import targets
from marginalia.comments.errors import TargetNotFound
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import Target
from nodes.models import Node
from tests.support.comments import site
from tests.support.comments.site import change_url

pytestmark = pytest.mark.usefixtures("mongo")

OF_TARGETS = ("form", "discussion", "feed")
OF_COMMENTS = ("url-redirect", "thread", "flag", "delete", "edit", "comment-done")


@pytest.fixture
def nodes_shown_by():
    """A function that registers nodes with another `visible`, or not at all for None."""

    def change(visible):
        comments.unregister(Node)
        if visible:
            comments.register(Node, visible=visible)

    yield change
    if Node in targets.registered():
        comments.unregister(Node)
    comments.register(Node, visible=live_nodes)


def codes(client, target, comment):
    asked = [reverse(f"comments-{name}", args=[target.label, target.pk]) for name in OF_TARGETS]
    asked += [change_url(name, comment) for name in OF_COMMENTS]
    return {client.get(url).status_code for url in asked}


@pytest.mark.parametrize("visible", [None, lambda ids: []], ids=["not registered", "not visible"])
def test_hidden_target_returns_404_everywhere(client, post_page, nodes_shown_by, moderator, visible):
    client.force_login(moderator)
    data = site.fill(client, post_page, "My text")
    site.send(client, data)
    (comment,) = selectors.iterate(post_page)
    held = services.hold(post_page, author=comment.author, source="Waits", token="w").held
    assert codes(client, post_page, comment) == {200, 302}
    nodes_shown_by(visible)
    assert codes(client, post_page, comment) == {404}
    assert client.get(reverse("comments-approve", args=[held.id])).status_code == 404
    stray = site.send(client, data)
    assert stray.status_code == 422
    assert "My text" in stray.content.decode()
    assert "Hello" not in stray.content.decode(), "the title of what cannot be seen"
    assert render("{% get_recent_comments 5 as list %}{{ list|length }}") == "0"


def render(source, **context):
    return Template("{% load comments %}" + source).render(Context(context))


def test_only_visible_objects_are_shown(mongo, post_page, nodes_shown_by):
    other = Target(post_page.label, "0" * 24)
    node = targets.resolve(post_page)
    nodes_shown_by(lambda ids: [node])
    assert targets.resolve_many([post_page, other, Target(post_page.label, "junk")]) == {post_page: node}
    assert targets.resolve_many([other]) == {}


def test_key_that_its_column_cannot_store_is_refused():
    assert targets.parse_key(Target("sessions.session", "x" * 40)) == "x" * 40
    with pytest.raises(TargetNotFound):
        targets.parse_key(Target("sessions.session", "x" * 41))


def test_tags_explain_how_to_register_a_model(post_page, nodes_shown_by):
    node = targets.resolve(post_page)
    nodes_shown_by(None)
    tags = ("render_comment_list for {}", "render_comment_form for {}", "get_comment_count for {} as n")
    for tag in tags:
        with pytest.raises(ImproperlyConfigured, match=r"nodes\.node has no comments\. Call comments\.register"):
            render("{% " + tag.format("node") + " %}", node=node)
        with pytest.raises(TemplateSyntaxError, match=r"comments\.register"):
            render("{% " + tag.format("nodes.node pk") + " %}", pk=node.pk)
    with pytest.raises(ImproperlyConfigured, match=r"comments\.register"):
        render('{% get_recent_comments 5 "nodes.node" as list %}')


def test_model_is_registered_once():
    with pytest.raises(ImproperlyConfigured, match="already"):
        comments.register(Node, visible=live_nodes)


def test_registered_model_without_a_url_is_an_error():
    assert [found for found in run_checks() if found.id == "comments.E010"] == []
    comments.register(Group, visible=lambda keys: [])
    try:
        (found,) = [found for found in run_checks() if found.id == "comments.E010"]
    finally:
        comments.unregister(Group)
    assert Group._meta.label in found.msg
