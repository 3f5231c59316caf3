"""A minute of the soak behind Varnish, and the errors that its readers would report."""

import random
import threading
from pathlib import Path

import pytest

from tests.faults.harness import cdn_run, run
from tests.faults.harness.cdn import OnCdn
from tests.faults.harness.cdn_faults import CACHE, RESTART, WEB
from tests.faults.harness.cdn_readers import Findings, Page, Witness
from tests.faults.harness.faults import KILL
from tests.faults.harness.ledger import Ledger, Window
from tests.faults.harness.places import running

pytestmark = pytest.mark.slow
SECONDS = 40.0


class Untold(OnCdn):
    """No worker purges this Varnish."""

    is_told = False


class MissingChanges(OnCdn):
    """The web servers don't notice changes by each other."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, DJANGO_SETTINGS_MODULE="tests.faults.harness.missing_changes")


@pytest.fixture(autouse=True)
def no_longer(monkeypatch):
    """Let a trial end even if a rare action never happened."""
    monkeypatch.setattr(run, "MORE", 0.0)


def tried(kind, faults, record_property):
    seed = random.randrange(10**6)
    with running(kind) as place:
        ledger, found = cdn_run.trial(place, faults, seconds=SECONDS, seed=seed)
    record_property("did", [f"seed {seed}", *found.report(), *ledger.wrong])
    assert len(found.pages) > 5 * SECONDS
    return ledger, found


def test_readers_are_served_whatever_dies_behind_varnish(record_property):
    ledger, found = tried(OnCdn, [KILL.format(WEB), RESTART.format(OnCdn.role), KILL.format(CACHE)], record_property)
    assert ledger.wrong == []
    assert found.availability(excusing=True) >= 0.999


def test_unpurged_varnish_serves_stale_pages(record_property):
    ledger, found = tried(Untold, [], record_property)
    assert any("were old and did not say so" in one for one in ledger.wrong)
    assert max(map(found.behind, found.unmarked(found.pages))) > 2


def test_web_servers_that_miss_changes_serve_stale_pages(record_property):
    _ledger, found = tried(MissingChanges, [], record_property)
    # Few pages stay old for longer, because the page is compared after each change through the same web server.
    assert max(map(found.behind, found.unmarked(found.direct_pages))) > 0.5


@pytest.fixture
def findings():
    """Return the results of readers of a thousand pages, ten of them requested while Varnish restarted."""

    def made(*pages, gaps=()):
        ledger = Ledger(windows=[Window(KILL.format(CACHE), 50.0, 60.0), Window(KILL.format(WEB), 70.0, 80.0)])
        witness = Witness([], threading.Event())
        witness.gaps = list(gaps)
        found = Findings([], witness, ledger)
        found.pages = [*(Page("/", 100.0, 100.1, 200) for _ in range(1000)), *pages]
        return found

    assert made().wrong() == []
    return made


def test_failed_pages_count_unless_varnish_was_down(findings):
    gone = [Page("/", 55.0, 55.1, 0), Page("/", 59.0, 65.0, 503)] * 10
    assert findings(*gone).wrong() == []
    assert findings(*gone).availability(excusing=False) < 0.999
    [wrong] = findings(Page("/", 75.0, 75.1, 503), Page("/", 90.0, 90.1, 0)).wrong()
    assert "503 during kill -9 of a web process" in wrong
    assert "no answer during peace" in wrong


def test_stale_pages_count_unless_marked_or_without_primary(findings):
    old = Page("/", 90.0, 90.1, 200, missing=88.5)
    [wrong] = findings(old).wrong()
    assert "/ 1.50 s, during peace" in wrong
    assert findings(Page("/", 90.0, 90.1, 200, is_marked=True, missing=50.0)).wrong() == []
    assert findings(old, gaps=[(88.6, 89.9)]).wrong() == []
    assert findings(Page("/", 90.0, 90.1, 200, missing=89.5)).wrong() == []


def test_stale_pages_from_a_web_server_count_too(findings):
    found = findings()
    found.direct_pages = [Page("/", 90.0, 90.1, 0), Page("/", 90.0, 90.1, 200, missing=88.5)]
    [wrong] = found.wrong()
    assert wrong.startswith("1 pages without Varnish were old")
