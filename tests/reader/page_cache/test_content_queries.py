"""Cached responses that show the result of a content query are rendered again whenever the result changes."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import models
from django.http import HttpResponse

from cms.testing.build import node, nonce, save
from marginalia.mongo.clock import now
from nodes.content import Page, Section, route
from nodes.types import TagChange
from reader import page_cache
from tests.support.nodes.content import registered

START = datetime(2030, 5, 1, 19, tzinfo=UTC)


class Lecture(Page):
    """A page that the programme lists."""

    stands_in = ["programme"]

    starts = models.DateTimeField()
    notes = models.TextField(blank=True)


class Programme(Section):
    """A section with its own lists of lectures."""

    @route("lectures", reads="pages")
    def lectures(self, request):
        return self._shown(Lecture.live.in_section(self.node))

    @route("visible", reads="pages")
    def visible(self, request):
        return self._shown(Lecture.visible_to(request.user))

    def _shown(self, query):
        found = query.filter(starts__gte=START).order_by("starts")
        lines = (f"{item.url} {item.title} {item.notes} {item.node.metadata.tags}\n" for item in found[:5])
        return HttpResponse([f"{found.count()}\n", *lines])


@pytest.fixture
def programme(mongo):
    with registered(Lecture, Programme):
        yield node("programme", "programme")


def lecture(programme, slug, **fields):
    return node("lecture", slug, parent=programme, **{"detail.starts": START, **fields})


def test_query_is_cached_until_its_result_changes(programme, client):
    def shown() -> str:
        response = client.get("/programme/lectures")
        assert response.wsgi_request.page_cache == "miss"
        again = client.get("/programme/lectures")
        assert again.wsgi_request.page_cache == "hit"
        assert again.content == response.content
        return response.content.decode()

    assert shown() == "0\n"
    first = lecture(programme, "tea")
    assert shown() == "1\n/programme/tea Tea  []\n"
    save(first, nonce(first), detail__notes="Bring a cup.")
    assert shown() == "1\n/programme/tea Tea Bring a cup. []\n"
    save(first, nonce(first), tags=TagChange(added=frozenset({"hot"})))
    assert "['hot']" in shown()
    save(first, nonce(first), detail__starts=START - timedelta(days=1))
    assert shown() == "0\n"
    later = lecture(programme, "cake", published=now() + timedelta(seconds=3600))
    assert shown() == "0\n"
    save(later, nonce(later), published=now())
    assert shown() == "1\n/programme/cake Cake  []\n"
    save(later, nonce(later), slug="pie")
    assert shown() == "1\n/programme/pie Cake  []\n"
    save(programme, nonce(programme), slug="courses")
    assert client.get("/courses/lectures").content.decode() == "1\n/courses/pie Cake  []\n"


def test_cached_query_expires_when_a_page_is_scheduled(programme, client):
    soon = now() + timedelta(seconds=60)
    lecture(programme, "tea", published=soon)
    client.get("/programme/lectures")
    (entry,) = page_cache.storage.cache.entries.values()
    assert entry.expires <= soon


def test_query_of_a_user_is_not_cached(programme, client):
    lecture(programme, "tea")
    for _number in range(2):
        response = client.get("/programme/visible")
        assert response.content.decode() == "1\n/programme/tea Tea  []\n"
        assert response.wsgi_request.page_cache == "unkeepable"
    assert not page_cache.storage.cache.entries
