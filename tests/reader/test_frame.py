"""The template tag `frame`, which renders the same parts of pages only once."""

import pytest
from django.contrib.auth import get_user_model
from django.template import Context, engines
from django.urls import set_script_prefix
from django.utils import translation

from marginalia.comments.reading import versions
from marginalia.mongo.engine.read_tracking import watch_reads
from nodes.models import stored_site
from nodes.services.site import save_settings


@pytest.fixture
def render(mongo):
    """Render a template in which `count` is the number of times that the content of the frame was rendered."""
    source = "{% load frame %}{% frame value %}{{ count }} {{ site.footer }}{% endframe %}"
    template = engines["django"].from_string(source).template
    counts = iter(range(1, 100))

    def render(**variables: object) -> str:
        with stored_site.read_once() as site:
            context = Context({"count": lambda: next(counts), "site": site.settings, **variables})
            return template.render(context)

    save_settings({"footer": "Margin"}, {"footer": ""})
    return render


def test_content_is_rendered_once_for_each_value(render):
    assert [render(value=value) for value in ("a", "a", ("b", 2), ("b", 2), "a")] == [
        "1 Margin",
        "1 Margin",
        "2 Margin",
        "2 Margin",
        "1 Margin",
    ]


def test_content_is_rendered_again_after_a_change_of_the_settings(render):
    render(value="a")
    save_settings({"footer": "Quire"}, {"footer": "Margin"})
    assert render(value="a") == "2 Quire"


def test_content_is_rendered_once_for_each_language_and_script_prefix(render):
    render(value="a")
    with translation.override("zh-hans"):
        assert render(value="a") == "2 Margin"
    set_script_prefix("/site/")
    try:
        assert render(value="a") == "3 Margin"
    finally:
        set_script_prefix("/")


@pytest.mark.parametrize(
    "reads",
    ["{% get_comment_count for nodes.node 7 as n %}{{ n }}", "{{ user.username }}"],
    ids=["discussion", "account"],
)
def test_content_that_reads_more_is_always_rendered_again(mongo, reads):
    save_settings({"footer": "Margin"}, {"footer": ""})
    User = get_user_model()
    User.objects.create_user("ada")
    source = "{% load comments frame %}{% frame %}{{ count }}" + reads + "{% endframe %}"
    template = engines["django"].from_string(source).template
    counts = iter(range(1, 100))
    values = {"count": lambda: next(counts), "user": lambda: User.objects.get(username="ada")}
    with stored_site.read_once(), watch_reads() as reads_of_page, versions.recorded() as discussions:
        pages = [template.render(Context(values)) for _ in range(2)]
    assert len(set(pages)) == 2
    assert reads_of_page.has_untracked or discussions.readings
