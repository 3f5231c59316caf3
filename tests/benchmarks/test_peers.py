"""What the comparison with Wagtail asks for and installs. It is run by hand: `make bench ARGS=peers`."""

import re
from importlib.util import find_spec
from urllib.parse import parse_qsl

import pytest
from django.urls import resolve

from benchmarks.__main__ import BY_NAME, NAMES
from benchmarks.peers import CALLS, OURS, OURS_COLD, REQUIREMENTS, WAGTAIL, WAGTAIL_KEPT, every_way
from cms.requests.keepable import KEPT
from tests.support.site_settings import ROOT

PIN = re.compile(r"[A-Za-z][\w-]*==\d[\w.]*")


@pytest.mark.parametrize("call", CALLS)
def test_ours_is_an_address_that_the_page_cache_keeps(call):
    path, _, query = (
        CALLS[call][OURS].format(id="6565f1e2a3b4c5d6e7f80910", path="/essays/on-lists", pk=4).partition("?")
    )
    assert {name for name, _value in parse_qsl(query)} <= KEPT[resolve(path).url_name]


def test_every_call_is_asked_with_and_without_what_keeps_answers():
    for paths in CALLS.values():
        ways = every_way(paths)
        assert ways[OURS_COLD] == paths[OURS]
        assert (WAGTAIL_KEPT in ways) == (WAGTAIL in paths)


def test_what_is_installed_is_pinned_and_serves_as_this_site_is_served():
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not PIN.fullmatch(line)] == []
    ours = set((ROOT / "requirements.txt").read_text().splitlines())
    same = {"Django", "gunicorn", "waitress"}
    assert {line.partition("==")[0] for line in ours & set(lines)} >= same


def test_it_is_known_by_name_and_not_run_with_the_others():
    assert "peers" in BY_NAME
    assert not set(BY_NAME) & set(NAMES)
    assert [name for name in (*NAMES, *BY_NAME) if find_spec(f"benchmarks.{name}") is None] == []
