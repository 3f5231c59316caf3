"""The template tags, as template authors use them."""

import pytest
from bson import ObjectId
from django.core.exceptions import ImproperlyConfigured
from django.template import Context, Template, TemplateSyntaxError
from django.test import RequestFactory, override_settings

from marginalia.comments.posting import services
from marginalia.comments.reading import presenter, selectors
from marginalia.comments.types import CommentAuthor, Order, Target
from nodes.models import Node
from nodes.selectors import stored_nodes
from tests.support.comments import site

pytestmark = pytest.mark.usefixtures("mongo")


@pytest.fixture
def node(post_page) -> Node:
    return stored_nodes.get(post_page.pk)


def render(source: str, **context) -> str:
    request = RequestFactory().get("/news/hello", context.pop("query", {}))
    return Template("{% load comments %}" + source).render(Context({"request": request, **context}))


def say(target, source, token, author="Bea", **more):
    return services.post(target, author=CommentAuthor(author), source=source, token=token, **more).comment


@pytest.fixture
def three(post_page):
    first = say(post_page, "One", "a")
    say(post_page, "Two", "b")
    say(post_page, "Re: one", "c", parent=first.slug)
    return first


def test_count_accepts_an_object_or_label_and_key(node, three):
    source = "{% get_comment_count for node as n %}{% get_comment_count for nodes.node pk as m %}{{ n }} {{ m }}"
    assert render(source, node=node, pk=node.pk) == "3 3"
    assert render("{% get_comment_count for nodes.Node pk as n %}{{ n }}", pk=node.pk) == "3"


def test_counts_of_a_list_are_read_with_one_command(mongo, node, three, commands):
    # More than the driver reads in a batch by default.
    others = [Target("nodes.node", str(ObjectId())) for _ in range(150)]
    stored = mongo.discussions.find_one()
    mongo.discussions.insert_many([{**stored, "_id": other.id, "count": 1} for other in others])
    source = "{% get_comment_counts objects as counts %}{% for obj, n in counts %}{{ n }} {% endfor %}"
    with commands.recorded():
        html = render(source, objects=[node, *others])
    assert html == "3 " + "1 " * 150
    assert commands.names == ["find"]


def test_counts_of_no_objects_are_empty(mongo):
    source = "{% get_comment_counts objects as counts %}{{ counts }}"
    assert render(source, objects=[]) == render(source) == "[]"


def test_counts_of_unregistered_objects_are_an_error(ann):
    with pytest.raises(ImproperlyConfigured, match="auth.user has no comments"):
        render("{% get_comment_counts objects as counts %}", objects=[ann])


def test_missing_object_has_no_comments_and_no_form(post_page):
    for about in ("nothing", "nodes.node nothing"):
        assert render("{% get_comment_count for " + about + " as n %}{{ n }} comments") == "0 comments"
        listed = "{% get_comment_list for " + about + " as list %}{{ list|length }}{% for c in list %}x{% endfor %}"
        assert render(listed) == "0"
        assert render("{% get_comment_form for " + about + " as form %}[{{ form }}]") == "[]"
        assert render("{% render_comment_list for " + about + " %}{% render_comment_form for " + about + " %}") == ""


@pytest.mark.parametrize(
    "tag",
    [
        'get_comment_list for node order="best" as list',
        "render_comment_list for node order=wanted",
        'get_comment_permalink three "best"',
    ],
)
def test_unknown_order_is_an_error_that_lists_the_choices(node, three, tag):
    with pytest.raises(TemplateSyntaxError, match="order “best” doesn't exist. Use one of: oldest, newest, threaded"):
        render("{% " + tag + " %}", node=node, three=three, wanted="best", query={"comments": "newest"})
    assert render("{% render_comment_list for node order=wanted %}", node=node, wanted="") != ""


def test_templates_of_django_comments_work_unchanged(node, post_page):
    say(post_page, "One & *two*", "a")
    source = (
        "{% get_comment_list for node as list %}{% for c in list %}"
        "{{ c.user_name }} {{ c.submit_date|date:'Y' }} {{ c.is_removed }}: {{ c.comment }}|{{ c }}{% endfor %}"
    )
    year = next(iter(selectors.iterate(post_page))).posted.year
    assert render(source, node=node) == f"Bea {year} False: One &amp; *two*|One &amp; *two*"


@pytest.mark.parametrize(
    ("order", "texts"),
    [("oldest", "One Two Re: one"), ("newest", "Re: one Two One"), ("threaded", "One Re: one Two")],
)
def test_list_is_rendered_in_each_order(node, three, order, texts):
    source = f'{{% get_comment_list for node order="{order}" as list %}}{{% for c in list %}}{{{{ c.source }}}} {{% endfor %}}'
    assert render(source, node=node).strip() == texts


def test_list_is_paged(node, three):
    source = (
        '{% get_comment_list for nodes.node pk order="oldest" page=2 page_size=2 as list %}'
        "{% for c in list %}{{ c.author.name }}: {{ c.html }}{% endfor %}"
    )
    assert render(source, pk=node.pk) == "Bea: <p>Re: one</p>"


def test_rendered_list_shows_the_requested_page(node, three):
    html = render("{% render_comment_list for node page_size=2 %}", node=node, query={"comments": "oldest.2"})
    assert "Re: one" in html
    assert "Two" not in html
    assert "Page 2 of 2" in html


def test_page_chosen_by_the_reader_overrides_the_template(node, three):
    tag = '{% get_comment_list for node order="oldest" page=2 page_size=2 as found %}{{ found|length }}'
    assert render(tag, node=node) == "1"
    assert render(tag, node=node, query={"comments": "oldest.1"}) == "2"


@pytest.mark.parametrize(
    "query", ["x", "oldest.99999999999999", "threaded.after.", "threaded.at.no", "oldest.0", "newest.-1", "$"]
)
def test_invalid_query_shows_a_page(node, three, query):
    assert "One" in render("{% render_comment_list for node %}", node=node, query={"comments": query})


def test_list_is_rendered_with_a_custom_template(node, three, settings, tmp_path):
    (tmp_path / "mine.html").write_text("{{ count }}:{% for c in comments %}{{ c.source }},{% endfor %}")
    with override_settings(TEMPLATES=[settings.TEMPLATES[0] | {"DIRS": [tmp_path]}]):
        assert render('{% render_comment_list for node using="mine.html" %}', node=node) == "3:One,Re: one,Two,"


@pytest.mark.parametrize("place", ["comments/nodes/node", "comments/nodes", "comments"])
def test_comment_template_is_found_by_model_app_or_default(node, three, settings, tmp_path, place):
    folder = tmp_path / place
    folder.mkdir(parents=True)
    (folder / "comment.html").write_text("<li>{{ comment.author.name|upper }} {{ comment.posted_exact }}</li>")
    (folder / "list.html").write_text("<ul>{{ rendered }}</ul>")
    (folder / "form.html").write_text("mine: {{ form.token.name }}")
    with override_settings(TEMPLATES=[settings.TEMPLATES[0] | {"DIRS": [tmp_path]}]):
        html = render("{% render_comment_list for node %}{% render_comment_form for node %}", node=node)
    assert html.startswith("<ul><li>BEA ")
    assert html.endswith("mine: token")


def test_form_is_for_the_object(node, post_page):
    html = render("{% get_comment_form for node as form %}{{ form.token.value }}", node=node)
    from marginalia.comments.posting import tokens

    assert tokens.read_form(html).target == post_page
    assert "csrfmiddlewaretoken" in render("{% render_comment_form for nodes.node pk %}", pk=node.pk)


def test_closed_discussion_has_no_form(node, post_page):
    services.close(post_page)
    assert render("{% render_comment_form for node %}", node=node) == ""


def test_visitors_of_a_discussion_for_members_get_a_link_to_the_login_page(node, rules, ann):
    rules(MODE="members")
    html = render("{% render_comment_form for node %}", node=node)
    assert "<form" not in html
    assert f"next={node.get_absolute_url()}" in html
    assert 'name="token"' in render("{% render_comment_form for node %}", node=node, user=ann)


def test_form_link_leads_to_the_form(client, node, post_page):
    html = render("{% render_comment_form_link for node %}", node=node)
    assert f'href="{site.form_url(post_page)}"' in html


@pytest.mark.parametrize("before", ["", "{% render_comment_list for node %}"])
def test_closed_discussion_has_a_placeholder_for_the_form(node, post_page, three, before):
    services.close(post_page)
    html = render(before + "{% render_comment_form_link for node %}", node=node)
    assert "Write a comment" not in html
    assert f'data-comments-form="{site.form_url(post_page)}"' in html
    services.open(post_page)
    assert "Write a comment" in render(before + "{% render_comment_form_link for node %}", node=node)


def test_permalink_leads_to_the_comment(client, node, three):
    url = render("{% get_comment_permalink comment %}", comment=three)
    assert client.get(url)["Location"].endswith(f"#c-{three.part}")


def test_recent_comments_are_only_of_public_pages(node, three, mongo):
    hidden = site.build.node("basic-page", "draft", published=None)
    say(site.Target(site.LABEL, str(hidden)), "Hidden", "h")
    html = render("{% get_recent_comments 2 as list %}{% for c in list %}{{ c.source }} on {{ c.obj }};{% endfor %}")
    assert html == "Re: one on Hello;Two on Hello;"


def test_comments_by_a_user(node, post_page, ann):
    services.post(post_page, author=CommentAuthor("Ann", id=str(ann.pk)), source="Mine", token="m")
    source = "{% get_comments_by user as list %}{% for c in list %}{{ c.source }} {{ c.get_absolute_url }}{% endfor %}"
    assert render(source, user=ann).startswith("Mine /comments/c/nodes.node/")


@pytest.mark.parametrize(
    "source",
    [
        "{% get_comment_count node as n %}",
        "{% get_comment_count for node %}",
        "{% get_comment_count for no.model pk as n %}",
        "{% get_comment_count for node page=2 as n %}",
        "{% render_comment_list for node as html %}",
        "{% render_comment_list for node colour='red' %}",
        "{% get_comment_list for a b c as list %}",
        "{% get_comment_list for %}",
    ],
)
def test_wrong_tags_are_refused_when_compiled(source):
    with pytest.raises(TemplateSyntaxError):
        Template("{% load comments %}" + source)


def variants(post_page):
    first = say(post_page, "One <b>&amp; 100%", "a", author="<Bea> & 50%")
    reply = services.post(
        post_page,
        author=CommentAuthor("Bob", url="https://bob.example/?a=1&b=<"),
        source="Two",
        token="b",
        parent=first.slug,
    ).comment
    gone = say(post_page, "Three", "c", parent=reply.slug)
    say(post_page, "Four %(html)s", "d", parent=gone.slug, author="%s")
    services.edit(post_page, reply.slug, source="Two, edited", rev=1, token="e")
    services.remove(post_page, gone.slug)
    services.post(post_page, author=CommentAuthor("x", url="javascript:alert(1)"), source="Five", token="f")
    services.post(post_page, author=CommentAuthor("m", id="7", is_moderator=True), source="Six", token="g")


def test_fast_rendering_equals_the_comment_template(post_page):
    """The result equals, byte for byte, comments/comment.html rendered for each comment."""
    variants(post_page)
    page = selectors.page(post_page, order=Order.THREADED)
    presented = presenter.Presenter(post_page, page.comments, order=page.order, may_reply=True)
    template = presenter.select_template(presenter.template_names(post_page, "comment"))
    slow = [template.render({"comment": view, "target": post_page}) for view in presented.views()]
    fast = presenter.comments_html(presented)
    assert fast == slow
    assert "&lt;Bea&gt; &amp; 50%" in fast[0]
    assert "javascript:" not in "".join(fast)
    assert len(fast) == 6


def test_long_thread_is_folded_and_opened_for_a_permalink(node, post_page):
    top = say(post_page, "Top", "top")
    replies = [say(post_page, f"Reply {n}", f"r{n}", parent=top.slug) for n in range(20)]
    folded = render('{% render_comment_list for node order="threaded" %}', node=node)
    assert folded.count("<details>") == folded.count("<details open>") == 1
    assert "<summary>20 replies<" in folded
    assert "<summary>13 more replies<" in folded
    opened = render(
        "{% render_comment_list for node %}", node=node, query={"comments": f"threaded.at.{replies[15].slug}"}
    )
    assert (opened.count("<details>"), opened.count("<details open>")) == (0, 2)


def test_folded_thread_shows_its_number_of_replies(node, three, settings, tmp_path):
    html = render('{% render_comment_list for node order="threaded" %}', node=node)
    before, replies = html.split("<details open><summary>1 reply</summary>")
    assert ("One" in before, "Re: one" in before, "Re: one" in replies.split("</details>")[0]) == (True, False, True)
    assert "<details" not in render('{% render_comment_list for node order="oldest" %}', node=node)
    (tmp_path / "comments").mkdir()
    (tmp_path / "comments/folded.html").write_text("<li>mine: {{ count }}{{ rendered }}</li>")
    with override_settings(TEMPLATES=[settings.TEMPLATES[0] | {"DIRS": [tmp_path]}]):
        assert "<li>mine: 1<li" in render('{% render_comment_list for node order="threaded" %}', node=node)


def test_list_with_the_link_costs_two_commands(node, three, commands):
    source = "{% render_comment_list for node %}{% render_comment_form_link for node %}"
    render(source, node=node)
    with commands.recorded():
        render(source, node=node)
    read = [event.command[event.command_name] for event in commands.sent]
    # In a request, the middleware has already read the site document.
    assert sorted(name for name in read if name != "cms.site") == ["comments", "discussions"]
