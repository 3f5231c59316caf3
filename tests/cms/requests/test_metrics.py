"""/metrics: its permissions and its content."""

import math
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from cms.requests.gate import Gate
from cms.requests.metrics.request_metrics import route_label
from cms.testing.build import node
from marginalia.comments.backends import backend
from marginalia.comments.backends.discussions import Intent
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor
from marginalia.mongo.clock import now
from marginalia.mongo.connection import UNAUTHORIZED
from reader import page_cache
from tests.support.scraping import Scraped

TOKEN = "a token that nobody guesses"


@pytest.fixture
def scrape(mongo, settings):
    """Read the metrics as Prometheus does, from a listed network."""
    settings.METRICS_NETWORKS = ["127.0.0.0/8"]
    page_cache.storage.clear()

    def scrape() -> Scraped:
        answer = Client().get("/metrics")
        assert answer.status_code == 200
        return Scraped(answer.content.decode())

    return scrape


def status(**request) -> int:
    return Client().get("/metrics", **request).status_code


def test_metrics_without_a_setting_return_404(mongo):
    hidden, missing = Client().get("/metrics"), Client().get("/no-such-page")
    assert hidden.status_code == missing.status_code == 404
    assert hidden["Content-Type"] == missing["Content-Type"]
    assert b"marginalia_" not in hidden.content


def test_only_listed_networks_read_metrics(mongo, settings):
    settings.METRICS_NETWORKS = ["10.0.0.0/8", "2001:db8::/32"]
    for address in ("10.1.2.3", "::ffff:10.1.2.3", "2001:db8::7"):
        assert status(REMOTE_ADDR=address) == 200, address
    for address in ("11.1.2.3", "127.0.0.1", "2001:db9::7", "unknown", ""):
        assert status(REMOTE_ADDR=address) == 404, address


def test_proxied_reader_is_not_mistaken_for_the_proxy(mongo, settings, rules):
    settings.METRICS_NETWORKS = ["127.0.0.0/8"]
    through = {"headers": {"x-forwarded-for": "203.0.113.9"}}
    assert status() == 200
    # A proxy that is not in the settings.
    assert status(**through) == 404
    settings.BEHIND_PROXY = True
    rules(ADDRESS="marginalia.comments.posting.ip_hash.forwarded")
    assert status() == 200
    assert status(**through) == 404
    assert status(headers={"x-forwarded-for": "203.0.113.9, 127.0.0.1"}) == 200


def test_token_opens_metrics_from_any_network(mongo, settings):
    settings.METRICS_TOKEN = TOKEN
    assert status(headers={"authorization": f"Bearer {TOKEN}"}, REMOTE_ADDR="203.0.113.9") == 200
    for sent in ("", "Bearer ", f"Bearer {TOKEN}.", f"Basic {TOKEN}", "Bearer ÿ"):
        assert status(headers={"authorization": sent}) == 404, sent
    settings.METRICS_TOKEN = ""
    assert status(headers={"authorization": "Bearer "}) == 404


def test_metrics_are_read_only_and_never_cached(mongo, scrape, commands):
    with commands.recorded():
        answer = Client().get("/metrics", headers={"host": "10.0.0.7"})
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert commands.written == set()
    assert Client().post("/metrics").status_code == 404


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/", "page"),
        ("/news/hello", "page"),
        ("/administration", "page"),
        ("/admin/", "admin"),
        ("/api/v1/nodes", "api"),
        ("/comments/feed/nodes.node:1", "comments"),
        ("/media/1/2/w800.webp", "photos"),
        ("/static/site.css", "static"),
        ("/feed/atom", "feed"),
        ("/news/feed/json", "feed"),
        ("", "page"),
    ],
)
def test_urls_are_grouped_into_seven_kinds(path, route):
    assert route_label(path) == route


def test_requests_are_counted_by_kind_and_status(scrape, client):
    before = scrape()
    client.get("/no-such-page")
    client.get("/no-such-page-either")
    client.get("/healthz")
    after = scrape()
    for labels in ({"route": "page"}, {"route": "page", "status": "4xx"}):
        assert after("request_seconds_count", **labels) - before("request_seconds_count", **labels) == 2
    assert after("mongodb_command_seconds_count") > before("mongodb_command_seconds_count")
    assert after("mongodb_connections_in_use") == 0


def test_pages_are_counted_by_cache_outcome(scrape, client):
    node(title="Ours", published=now() - timedelta(days=1))
    before = scrape()
    made = client.get("/page")
    client.get("/page")
    client.get("/page", headers={"if-none-match": made["ETag"]})
    client.get("/search?q=ours")
    client.post("/comments/post")
    after = scrape()
    counted = {
        result: after("page_cache_total", result=result) - before("page_cache_total", result=result)
        for result in ("miss", "hit", "304", "unkeepable")
    }
    assert counted == {"miss": 1, "hit": 1, "304": 1, "unkeepable": 1}


def test_requests_refused_at_the_gate_are_counted(scrape, monkeypatch):
    monkeypatch.setattr("cms.requests.gate.WAIT_SECONDS", 0.05)
    before = scrape()
    gate = Gate(1, lambda: False)
    assert gate.enter()
    assert not gate.enter()
    assert scrape()("gate_refused_total") - before("gate_refused_total") == 1
    assert scrape()("gate_waiting") == 0


def test_pending_work_is_read_from_the_database(scrape, post_page):
    empty = scrape()
    assert empty("comments_pending") == empty("comments_pending_oldest_seconds") == empty("comment_claims_open") == 0
    assert empty("worker_silent_seconds") == math.inf
    for n in range(2):
        services.hold(post_page, author=CommentAuthor("Bo"), source="Hello", token=f"t{n}")
    backend().store.discussions.claim(post_page, Intent("op", "0" * 16, "post", number=True, delta=1))
    call_command("work", "--once", stdout=StringIO())
    found = scrape()
    assert found("comments_pending") == 2
    assert 0 <= found("comments_pending_oldest_seconds") < 60
    assert found("comment_claims_open") == 1
    assert 0 <= found("worker_silent_seconds") < 60


def test_server_metrics_are_reported(scrape):
    found = scrape()
    assert found("mongodb_up") == 1
    assert found("mongodb_members_down") == 0
    assert found("mongodb_election_term") >= 1
    assert found("mongodb_oplog_window_seconds") >= 0
    assert 0 <= found("mongodb_oplog_filled_ratio") <= 1
    assert 0 < found("mongodb_disk_free_bytes") < found("mongodb_disk_bytes")
    assert 0 < found("mongodb_connections_open") < found("mongodb_connections_limit")


def test_unreachable_server_keeps_the_other_metrics(scrape, monkeypatch):
    with MongoClient("mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=50") as unreachable:
        monkeypatch.setattr("marginalia.mongo.status.client", lambda alias: unreachable)
        monkeypatch.setattr("cms.requests.metrics.database_metrics.SECONDS", 0.2)
        found = scrape()
    monkeypatch.undo()
    assert found("mongodb_up") == 0
    assert "request_seconds_count" in found.names
    # Values that could not be queried are omitted.
    assert "comments_pending" not in found.names
    assert scrape()("mongodb_up") == 1


def test_failing_query_hides_no_other_metric(scrape, monkeypatch):
    def refused():
        raise OperationFailure("not authorized", code=UNAUTHORIZED)

    monkeypatch.setattr("cms.requests.metrics.database_metrics.backend", refused)
    found = scrape()
    assert "comments_pending_oldest_seconds" not in found.names
    assert found("mongodb_up") == 1
    assert "mongodb_disk_bytes" in found.names
