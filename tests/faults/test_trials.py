"""The whole site under traffic during repeated faults: everything acknowledged exists, once and whole."""

import random

import pytest

from tests.faults.harness import run
from tests.faults.harness.faults import ELECTION, KILL, STOP, Faults
from tests.faults.harness.ledger import Ledger
from tests.faults.harness.places import OnEmbedded, OnReplicaSet, running

pytestmark = pytest.mark.slow

SECONDS = 60.0
# Between the election, as the members report it, and the driver's next check of them.
NOTICING = 1.5


def tried(place, chosen, record_property) -> Ledger:
    """Run a trial of these faults in a random order, report it, and fail for every error."""
    seed = random.randrange(10**6)
    random.Random(seed).shuffle(chosen)
    ledger = run.trial(place, chosen, seconds=SECONDS, seed=seed)
    record_property("did", [f"seed {seed}", *ledger.report()])
    assert ledger.wrong == []
    assert run.idle(ledger) == []
    assert [name for name in chosen if not ledger.measured[name]] == []
    return ledger


def test_nothing_is_lost_whatever_dies_on_one_machine(record_property):
    with running(OnEmbedded) as place:
        chosen = Faults.names(place)
        assert len(chosen) >= 6
        ledger = tried(place, chosen, record_property)
        assert ledger.done["connections reset"] > 0


def test_nothing_is_lost_when_the_primary_dies(record_property):
    with running(OnReplicaSet) as place:
        kill, stop = KILL.format(place.role), STOP.format(place.role)
        ledger = tried(place, [kill, stop, kill], record_property)
    elections = ledger.measured[ELECTION]
    kills = [window for window in ledger.windows if window.fault == kill]
    assert len(elections) == len(kills) == 2
    for took, window in zip(elections, kills, strict=True):
        # A request without a primary may be answered later on a busy machine.
        failed = [one.began - window.began for one in ledger.during(window) if one.kind == "reads" and one.failed]
        record_property(
            "did", [f"election {took:.1f} s; readers who asked until {max(failed, default=0):.1f} s saw errors"]
        )
        assert max(failed, default=0) <= took + NOTICING
