"""Cached URLs are the same as Django's."""

import pytest
from django.test import override_settings
from django.urls import reverse, set_script_prefix

from marginalia.cached_urls import cached_reverse, reverse_around

KEYS = ["65f0c0ffee65f0c0ffee65f0", "7", "a b", "50%", "é/:@!$&'()*+,;=~", "?#[]<>"]


def test_cached_url_depends_on_the_arguments_and_the_script_prefix():
    assert [cached_reverse("author", slug) for slug in ("ann", "ann", "bo")] == ["/author/ann"] * 2 + ["/author/bo"]
    set_script_prefix("/site/")
    try:
        assert cached_reverse("author", "ann") == "/site/author/ann"
    finally:
        set_script_prefix("/")


@pytest.mark.parametrize("key", KEYS)
def test_url_around_a_key_is_escaped_like_a_reversed_url(key):
    slug = "a" * 16
    assert reverse_around("comments-form", ("nodes.node",), key) == reverse("comments-form", args=["nodes.node", key])
    expected = reverse("comments-thread", args=["nodes.node", key, slug])
    assert reverse_around("comments-thread", ("nodes.node",), key, (slug,)) == expected


def test_cached_url_follows_other_routes():
    assert cached_reverse("comments-mine") == "/comments/mine"
    with override_settings(ROOT_URLCONF="marginalia.comments.urls"):
        assert cached_reverse("comments-mine") == "/mine"
