"""The whole site under mixed traffic while it is broken again and again; everything acknowledged must be there, once.

python -m benchmarks.soak --minutes 60
python -m benchmarks.soak cdn --minutes 60: three members, two web processes, Varnish; besides, readers must get their pages,
and none that is old without saying so.
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

# Of one trial: traffic, and then the audit. Two kinds of site take turns; behind Varnish one trial takes all of the time.
TRIAL_MINUTES = 10.0
# Of a fault with the peace before it.
FAULT_SECONDS = 11.0


def main() -> int:
    """Run the soak and print what it did; exit status 1 if anything was lost, doubled, half there or failed unannounced."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("site", nargs="?", choices=["cdn"])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger(run.__name__).setLevel(logging.INFO)
    # Ended politely it ends its servers, also one that a fault has stopped just now.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    trials = 1 if options.site else max(2, round(options.minutes / TRIAL_MINUTES))
    seconds = options.minutes * 60 / trials
    kinds = "behind Varnish" if options.site else "on one mongod and on three in turn"
    print(f"seed {options.seed}: {trials} trials of {seconds / 60:.1f} minutes, {kinds}", flush=True)
    wrong = 0
    for number in range(trials):
        began = time.monotonic()
        said = list[str]()
        if options.site:
            ledger, found = _behind_varnish(seconds, options.seed)
            said = found.report()
        else:
            ledger = _trial((OnEmbedded, OnReplicaSet)[number % 2], seconds, options.seed + number)
        print(f"\ntrial {number + 1} of {trials}, {time.monotonic() - began:.0f} s with its audit")
        print("\n".join(f"  {line}" for line in [*ledger.report(), *said]))
        faults = [*ledger.wrong, *(f"no {kind} were done" for kind in run.idle(ledger))]
        print(
            "\n".join(f"  WRONG: {line}" for line in faults) or "  nothing lost, nothing doubled, no error unannounced",
            flush=True,
        )
        wrong += len(faults)
    print(f"\n{trials} trials, {wrong} things wrong")
    return 1 if wrong else 0


def _trial(kind: type[OnEmbedded] | type[OnReplicaSet], seconds: float, seed: int) -> Ledger:
    dice = random.Random(seed)
    with running(kind) as place:
        known = Faults.names(place)
        chosen = [dice.choice(known) for _ in range(max(len(known), int(seconds / FAULT_SECONDS)))]
        return run.trial(place, chosen, seconds=seconds, seed=seed)


def _behind_varnish(seconds: float, seed: int) -> tuple[Ledger, cdn_run.Findings]:
    """Break each part in turn, in another order each time."""
    dice = random.Random(seed)
    chosen = list[str]()
    with running(OnCdn) as place:
        known = CdnFaults.names(place)
        while len(chosen) < seconds / FAULT_SECONDS:
            chosen += dice.sample(known, len(known))
        most = max(len(known), int(seconds / FAULT_SECONDS))
        return cdn_run.trial(place, chosen[:most], seconds=seconds, seed=seed)


if __name__ == "__main__":
    sys.exit(main())
