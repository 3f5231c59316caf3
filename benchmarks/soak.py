"""The whole site under mixed traffic and repeated faults. Every acknowledged write must be stored exactly once.

python -m benchmarks.soak --minutes 60 python -m benchmarks.soak cdn --minutes 60

The second command uses three members, two web processes and Varnish. It also checks that readers get their pages, and
that stale pages are marked.
"""

import argparse
import logging
import random
import signal
import sys
import time

from tests.faults.harness import cdn_run, run
from tests.faults.harness.cdn import OnCdn
from tests.faults.harness.cdn_faults import CdnFaults
from tests.faults.harness.faults import Faults
from tests.faults.harness.ledger import Ledger
from tests.faults.harness.places import OnEmbedded, OnReplicaSet, running

# Number of minutes of traffic in a trial, which ends with the audit. Trials alternate between two kinds of site. Behind
# Varnish, there is only one trial.
TRIAL_MINUTES = 10.0
# Number of seconds per fault, including the pause before it.
FAULT_SECONDS = 11.0


def main() -> int:
    """Run the soak and print its report. Return 1 after lost, duplicated or incomplete writes, or unexpected errors."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("site", nargs="?", choices=["cdn"])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger(run.__name__).setLevel(logging.INFO)
    # After SIGTERM, also end the servers of the soak test, including one that a fault has just suspended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    trials = 1 if options.site else max(2, round(options.minutes / TRIAL_MINUTES))
    seconds = options.minutes * 60 / trials
    kinds = "behind Varnish" if options.site else "alternating between one mongod and three"
    print(f"seed {options.seed}: {trials} trials of {seconds / 60:.1f} minutes, {kinds}", flush=True)
    wrong = 0
    for number in range(trials):
        started = time.monotonic()
        report = list[str]()
        if options.site:
            ledger, findings = _behind_varnish(seconds, options.seed)
            report = findings.report()
        else:
            ledger = _trial((OnEmbedded, OnReplicaSet)[number % 2], seconds, options.seed + number)
        print(f"\ntrial {number + 1} of {trials}, {time.monotonic() - started:.0f} s including the audit")
        print("\n".join(f"  {line}" for line in [*ledger.report(), *report]))
        faults = [*ledger.wrong, *(f"there were no {kind}" for kind in run.idle(ledger))]
        print(
            "\n".join(f"  WRONG: {line}" for line in faults) or "  no lost or duplicated writes, no unexpected errors",
            flush=True,
        )
        wrong += len(faults)
    print(f"\n{trials} trials, {wrong} problems")
    return 1 if wrong else 0


def _trial(kind: type[OnEmbedded] | type[OnReplicaSet], seconds: float, seed: int) -> Ledger:
    generator = random.Random(seed)
    with running(kind) as place:
        names = Faults.names(place)
        chosen = [generator.choice(names) for _ in range(max(len(names), int(seconds / FAULT_SECONDS)))]
        return run.trial(place, chosen, seconds=seconds, seed=seed)


def _behind_varnish(seconds: float, seed: int) -> tuple[Ledger, cdn_run.Findings]:
    """Run one trial that causes all faults repeatedly, in a new random order in each repetition."""
    generator = random.Random(seed)
    chosen = list[str]()
    with running(OnCdn) as place:
        names = CdnFaults.names(place)
        while len(chosen) < seconds / FAULT_SECONDS:
            chosen += generator.sample(names, len(names))
        count = max(len(names), int(seconds / FAULT_SECONDS))
        return cdn_run.trial(place, chosen[:count], seconds=seconds, seed=seed)


if __name__ == "__main__":
    sys.exit(main())
