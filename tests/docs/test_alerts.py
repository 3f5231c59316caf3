"""The alert rules: their metrics exist, each rule fires when it should, and none on a healthy site."""

import json
import re
import subprocess

import pytest
from django.test import Client

from marginalia.mongo.clock import now
from tests.support.scraping import Scraped
from tests.support.site_settings import ROOT

RULES = ROOT / "docs/reference/alerts.yml"
RUNBOOKS = (ROOT / "docs/runbooks/README.md").read_text()
ALERTS = re.findall(r"- alert: (\w+)", RULES.read_text())
HOUR = 60  # minutes

# The series of a healthy site per minute, and the series with which an alert must fire: metric with labels → series.
WELL = {
    'up{job="marginalia"}': "1+0x200",
    'marginalia_request_seconds_count{route="page",status="2xx"}': "0+600x200",
    'marginalia_request_seconds_count{route="page",status="5xx"}': "0+0x200",
    'marginalia_request_seconds_bucket{route="page",le="0.5"}': "0+600x200",
    'marginalia_request_seconds_bucket{route="page",le="2.5"}': "0+600x200",
    'marginalia_request_seconds_bucket{route="page",le="+Inf"}': "0+600x200",
    "marginalia_mongodb_up": "1+0x200",
    "marginalia_gate_refused_total": "0+0x200",
    "marginalia_mongodb_members_down": "0+0x200",
    "marginalia_mongodb_replication_lag_seconds": "5+0x200",
    "marginalia_mongodb_election_term": "3+0x200",
    "marginalia_mongodb_oplog_window_seconds": "3600+60x200",
    "marginalia_mongodb_oplog_filled_ratio": "0.2+0x200",
    "marginalia_mongodb_disk_free_bytes": "50+0x200",
    "marginalia_mongodb_disk_bytes": "100+0x200",
    "marginalia_mongodb_connections_open": "50+0x200",
    "marginalia_mongodb_connections_limit": "100+0x200",
    "marginalia_comments_pending_oldest_seconds": "0+60x200",
    # Writers come and go.
    "marginalia_comment_claims_open": "0 1 0 2" + " 0 1 0 3" * 50,
    "marginalia_worker_silent_seconds": "30+0x200",
    # A failed email is sent again.
    "marginalia_jobs_retrying": "0x20 1x20" + " 0x9 1x19" * 5,
    "marginalia_jobs_failed": "0+0x200",
    "marginalia_caches_silent_seconds": "5+0x200",
}
ILL = {
    "SiteDown": {'up{job="marginalia"}': "0+0x200"},
    "RequestsFail": {'marginalia_request_seconds_count{route="page",status="5xx"}': "0+20x200"},
    "PagesSlow": {'marginalia_request_seconds_bucket{route="page",le="0.5"}': "0+500x200"},
    "DatabaseAway": {"marginalia_mongodb_up": "0+0x200"},
    "DatabaseHangs": {"marginalia_gate_refused_total": "0+1x200"},
    "MemberDown": {"marginalia_mongodb_members_down": "1+0x200"},
    "ReplicationLag": {"marginalia_mongodb_replication_lag_seconds": "61+0x200"},
    "ManyElections": {"marginalia_mongodb_election_term": "3+1x200"},
    "OplogShort": {"marginalia_mongodb_oplog_filled_ratio": "0.95+0x200"},
    "DiskLow": {"marginalia_mongodb_disk_free_bytes": "9+0x200"},
    "ConnectionsFew": {"marginalia_mongodb_connections_open": "81+0x200"},
    "CommentsWait": {"marginalia_comments_pending_oldest_seconds": "180000+60x200"},
    "ClaimsLeft": {"marginalia_comment_claims_open": "1+0x200"},
    "WorkerSilent": {"marginalia_worker_silent_seconds": "100+60x200"},
    "JobsRetried": {"marginalia_jobs_retrying": "1+0x200"},
    "JobsFailed": {"marginalia_jobs_failed": "1+0x200"},
    "CacheNotTold": {"marginalia_caches_silent_seconds": "5+60x200"},
}


def test_every_metric_used_by_a_rule_exists(mongo, settings, client):
    settings.METRICS_NETWORKS = ["127.0.0.0/8"]
    settings.CDN_PURGE_URLS = ["http://127.0.0.1:6082"]
    client.get("/no-such-page")
    mongo.workers.insert_one({"_id": "last", "at": now()})
    mongo["cms.purges"].insert_one({"_id": "http://127.0.0.1:6082", "resume": {}, "at": now()})
    names = {f"marginalia_{name}" for name in Scraped(Client().get("/metrics").content.decode()).names}
    named = set(re.findall(r"marginalia_\w+", RULES.read_text()))
    # A replica set of one member has no secondary that lags.
    assert named - names == {"marginalia_mongodb_replication_lag_seconds"}
    asked = " ".join(re.findall(r"expr: (.*)", RULES.read_text()))
    assert {re.sub(r"\{.*", "", series) for series in WELL} == set(re.findall(r"\b(?:marginalia_\w+|up)\b", asked))


def test_exactly_the_existing_rules_are_documented():
    assert re.findall(r"^\| \[`(\w+)`\]\(\S+\) \| (?:critical|warning) \|", RUNBOOKS, re.MULTILINE) == ALERTS
    assert sorted(ILL) == sorted(ALERTS)


def test_every_alert_has_a_runbook():
    urls = dict(zip(ALERTS, re.findall(r'runbook_url: "(.+)"', RULES.read_text()), strict=True))
    for alert, url in urls.items():
        assert (ROOT / url).read_text().startswith(f"# {alert}: ")
    folder = ROOT / "docs/runbooks"
    assert {ROOT / url for url in urls.values()} == set(folder.glob("*.md")) - {folder / "README.md"}


def test_runbooks_search_for_words_in_the_log():
    """journald doesn't know the site's levels. The tests of purging check the words about caches."""
    pages = {page.name: page.read_text() for page in (ROOT / "docs/runbooks").glob("*.md")}
    assert not [name for name, page in pages.items() if re.search(r"journalctl [^`|]*-p", page)]
    assert "grep 'receive purges'" in pages["cache-not-told.md"]


def promtool(*arguments: str) -> str:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_rules_are_valid():
    assert f"SUCCESS: {len(ALERTS)} rules found" in promtool("check", "rules", str(RULES))


def fired(name: str, series: dict[str, str]) -> dict:
    """Return a promtool test: after three hours of these series, exactly this alert fires, or none for ""."""
    return {
        "interval": "1m",
        "input_series": [{"series": series, "values": values} for series, values in (WELL | series).items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{3 * HOUR}m",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1}] if name else [],
            }
        ],
    }


@pytest.mark.slow
def test_each_rule_fires_alone_and_none_on_a_healthy_site(tmp_path):
    tests = [fired("", {}), *(fired(name, series) for name, series in ILL.items())]
    # JSON is YAML.
    written = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yml").write_text(json.dumps(written))
    assert "SUCCESS" in promtool("test", "rules", str(tmp_path / "tests.yml"))
