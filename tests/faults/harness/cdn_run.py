"""One trial behind Varnish: the traffic of other trials, at a moderate pace, with readers of the cache."""

import random
import threading
from collections.abc import Sequence

from tests.faults.harness import run
from tests.faults.harness.cdn import OnCdn
from tests.faults.harness.cdn_faults import CdnFaults
from tests.faults.harness.cdn_readers import UNCHANGED, CacheReader, Findings, WebReader, Witness, prepared
from tests.faults.harness.content import Content
from tests.faults.harness.discussing import Announcer, Grower, Poster
from tests.faults.harness.ledger import Ledger
from tests.faults.harness.traffic import Editor, Traffic

READERS = 4
# Seconds between two rounds. The test looks for stale pages, not for slow ones.
PACE = {Editor: 1.0, Poster: 2.0, Announcer: 0.8, Grower: 0.3}
PACE_OF_OTHERS = 1.5


def trial(place: OnCdn, faults: Sequence[str], *, seconds: float, seed: int) -> tuple[Ledger, Findings]:
    """Apply each of `faults` in order. Return the ledger with its errors, and the readers' results."""
    readers: list[CacheReader] = []

    def cast(
        _place: run.Place, content: Content, ledger: Ledger, over: threading.Event, dice: random.Random
    ) -> list[Traffic]:
        common = place.site, content, ledger, over
        readers.extend(CacheReader(*common, dice.randrange(2**30)) for _ in range(READERS))
        readers.extend(WebReader(*common, dice.randrange(2**30), port=port) for port in place.web_ports)
        others = [*run.people(place, content, ledger, over, dice)]
        others.append(Announcer(*common, dice.randrange(2**30), target=content.page))
        for one in others:
            one.pace = max(one.pace, PACE.get(type(one), PACE_OF_OTHERS))
        return [*others, *readers]

    over = threading.Event()
    witness = Witness(place.members, over)
    witness.start()
    try:
        ledger = run.trial(place, faults, seconds=seconds, seed=seed, breaking=CdnFaults, prepared=prepared, cast=cast)
    finally:
        over.set()
        witness.join()
    found = Findings(readers, witness, ledger)
    ledger.wrong += found.wrong()
    expected = [kind + end for kind in (CacheReader.kind, WebReader.kind) for end in ("", UNCHANGED)]
    ledger.wrong += [f"there were no {kind}" for kind in expected if not ledger.done[kind]]
    return ledger, found
