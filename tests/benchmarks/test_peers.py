"""The comparison with Wagtail: what it requests, installs and hands over.

It runs only by name: `make bench ARGS=peers`.
"""

from importlib.util import find_spec
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest
from django.urls import resolve

from benchmarks import peer_pages, side_by_side
from benchmarks.__main__ import BY_NAME, NAMES
from benchmarks.peers import CALLS, OURS, OURS_COLD, WAGTAIL, WAGTAIL_KEPT, all_ways
from benchmarks.side_by_side import Series
from benchmarks.wagtail_site.fill import thread_places
from marginalia.comments.backends import backend
from reader.page_cache.cacheable import CACHED_ROUTES
from tests.support.comments.making import new


@pytest.mark.parametrize("call", CALLS)
def test_our_url_is_cacheable(call):
    path, _, query = CALLS[call][OURS].format(id="6565f1e2a3b4c5d6e7f80910", pk=4).partition("?")
    assert {name for name, _value in parse_qsl(query)} <= CACHED_ROUTES[resolve(path).url_name]


def test_every_call_is_measured_cached_and_uncached():
    for paths in CALLS.values():
        ways = all_ways(paths)
        assert (ways[OURS_COLD], ways[WAGTAIL_KEPT]) == (paths[OURS], paths[WAGTAIL])


def test_peer_gets_our_comments_parents_first(post_page):
    first = backend().post(post_page, new("first")).comment
    backend().post(post_page, new("second"))
    reply = backend().post(post_page, new("reply", first.slug)).comment
    handed = peer_pages.comments(post_page.pk)
    assert [one["slug"] for one in handed][::2] == [first.slug, reply.slug]
    assert [one["parent"] for one in handed] == ["", "", first.slug]
    assert [one["text"] for one in handed] == [one.source for one in backend().iterate(post_page)]


def test_threads_are_numbered_as_the_peer_numbers_them():
    # "c" replies to "a" after "b" started a thread. "d" and "f" reply to "a", and "e" to "c".
    said = {"a": "", "b": "", "c": "a", "d": "a", "e": "c", "f": "a"}
    places = thread_places([{"slug": slug, "parent": parent} for slug, parent in said.items()], 11)
    columns = ("id", "parent_id", "thread_id", "level", "order", "nested_count")
    assert [tuple(place[name] for name in columns) for place in places] == [
        (11, 11, 11, 0, 1, 4),
        (12, 12, 12, 0, 1, 0),
        (13, 11, 11, 1, 2, 1),
        (14, 11, 11, 1, 4, 0),
        (15, 13, 11, 2, 3, 0),
        (16, 11, 11, 1, 5, 0),
    ]


def test_ratios_compare_servers_within_one_round():
    every = [Series("a post", way, _Server(rates), "/") for way, rates in (("ours", [30, 80]), ("peer", [10, 20]))]
    side_by_side.measure(every, "peer", _Server([100, 200]), rounds=2, seconds=1)
    assert [one.base_ratios for one in every] == [[3, 4], [1, 1]]
    assert every[0].bare_ratios == [0.3, 0.4]
    assert every[0].row() == ["a post", "ours", "55", "3.50", "3.00–4.00", "0.350", "1.00", "0.00", "2"]


def test_missing_page_is_not_measured():
    with pytest.raises(RuntimeError, match="/gone: status 404"):
        Series("a post", "peer", _Server([], status=404), "/gone")


@pytest.mark.parametrize(("ratios", "goal", "verdict"), [([7, 6, 9], 7, "met"), ([7, 6, 6], 7, "missed")])
def test_goal_is_judged_by_the_median(ratios, goal, verdict):
    assert peer_pages.verdict(ratios, goal) == f"≥ {goal}: {verdict}"


def test_peers_benchmark_runs_only_by_name():
    assert "peers" in BY_NAME
    assert not set(BY_NAME) & set(NAMES)
    assert [name for name in (*NAMES, *BY_NAME) if find_spec(f"benchmarks.{name}") is None] == []


class _Server:
    """A server that returns two bytes, with a given number of calls per second in each round."""

    def __init__(self, rates, status=200):
        self.rates, self.status = iter(rates), status

    def get(self, _path):
        return self.status, {}, b"ok"

    def load(self, _path, _seconds):
        return SimpleNamespace(rate=next(self.rates), web=1.0, mongod=0.0)
