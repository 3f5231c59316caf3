"""benchmarks/bare.py: its upper bound for a cached page reads what the page cache reads."""

from importlib import import_module

import pytest
from django.conf import LazySettings

from marginalia.comments.backends import backend
from nodes.models import Node
from tests.support.comments.making import new


@pytest.fixture
def bare(mongo, monkeypatch):
    monkeypatch.setattr(LazySettings, "configure", lambda _settings, **_values: None)
    module = import_module("benchmarks.bare")
    monkeypatch.setattr(module, "_database", lambda: mongo)
    return module


def test_benchmark_reads_versions_like_the_page_cache(bare, post_page, client, rf, commands):
    backend().post(post_page, new("first"))
    path = Node.objects.get(pk=post_page.pk).get_absolute_url()
    client.get(path)
    with commands.recorded():
        client.get(path)
    [sent] = commands.sent
    asked = rf.get("/", {"discussion": post_page.id})
    bare.read(asked, 2)
    with commands.recorded():
        assert bare.read(asked, 2).content == b"xx"
    [read] = commands.sent
    names = ("aggregate", "pipeline", "cursor")
    assert [read.command[name] for name in names] == [sent.command[name] for name in names]
    assert {"maxTimeMS"} <= read.command.keys() & sent.command.keys()


def test_benchmark_reads_everything_a_post_contains(bare, post_page, rf):
    backend().post(post_page, new("first"))
    assert b"first" in bare.read_all(rf.get("/", {"discussion": post_page.id}), 100).content
