"""The app is imported only as marginalia.comments, because a project can have its own app `comments`."""

import sys

from django.template import Template
from django.template.base import TextNode


def test_no_module_is_loaded_as_comments():
    loaded = {name for name in sys.modules if name.partition(".")[0] in ("comments", "mongo", "markup", "local")}
    assert loaded == set()


def test_template_tags_have_a_second_library_name():
    template = Template("{% load marginalia_comments %}{% get_comment_count for nodes.node pk as n %}{{ n }}")
    assert template.nodelist.get_nodes_by_type(TextNode) == []
