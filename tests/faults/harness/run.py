"""One trial: traffic on a site during repeated faults, and then the audit."""

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence

from tests.faults.harness import auditor
from tests.faults.harness.content import Content, make
from tests.faults.harness.discussing import Converter, Grower, Moderator, Poster
from tests.faults.harness.faults import Faults
from tests.faults.harness.ledger import Ledger
from tests.faults.harness.places import OnEmbedded, OnReplicaSet
from tests.faults.harness.traffic import INSISTING, Editor, Guest, Photographer, Reader, Tagger, Traffic
from tests.support.running import Site

logger = logging.getLogger(__name__)

# Seconds between two faults, in which errors are not excused.
PEACE = (1.5, 4.0)
# Seconds by which a trial is extended if some kind of traffic never succeeded.
MORE = 120.0
KINDS = {
    "saves",
    "tags",
    "posts",
    "held posts",
    "uploads",
    "replaces",
    "conversions",
    "decisions",
    "reads",
    "reads without the database",
    "posts to short discussions",
    "conversions to embedded",
    "conversions from embedded",
    "bounds reached while something was broken",
    "promotions",
}
# The audit finds these by itself, so nobody waits for them.
AUDITED = {"promotions"}


Place = OnEmbedded | OnReplicaSet
Cast = Callable[[Place, Content, Ledger, threading.Event, random.Random], list[Traffic]]


def people(place: Place, content: Content, ledger: Ledger, over: threading.Event, dice: random.Random) -> list[Traffic]:
    """Return one or two of each kind of traffic."""

    def common() -> tuple[object, ...]:
        return place.site, content, ledger, over, dice.randrange(2**30)

    return [
        Editor(*common(), who="ann"),
        Editor(*common(), who="bob"),
        Tagger(*common()),  # type: ignore[arg-type]
        Poster(*common(), target=content.discussed),
        Poster(*common(), target=content.discussed),
        Poster(*common(), target=content.moderated, held=True),
        Grower(*common()),
        Grower(*common(), meddled=True),
        Moderator(*common()),  # type: ignore[arg-type]
        Photographer(*common()),  # type: ignore[arg-type]
        Converter(*common()),  # type: ignore[arg-type]
        Reader(*common()),  # type: ignore[arg-type]
        Reader(*common()),  # type: ignore[arg-type]
        Guest(*common()),  # type: ignore[arg-type]
    ]


def trial(
    place: Place,
    faults: Sequence[str],
    *,
    seconds: float,
    seed: int,
    breaking: type[Faults] = Faults,
    prepared: Callable[[Site, Ledger], Content] = make,
    cast: Cast = people,
) -> Ledger:
    """Apply `faults` in order, while the traffic runs for at least the given seconds. Audit, and return the ledger.

    On a slow machine, only as many faults are applied as fit into the time, but each kind once.
    """
    ledger, dice, over = Ledger(), random.Random(seed), threading.Event()
    content = prepared(place.site, ledger)
    breaks = breaking(place, content, ledger, dice)
    at_work = cast(place, content, ledger, over, dice)
    began = time.monotonic()
    for one in at_work:
        one.start()
    # All use one editor's account, because a few interrupted logins would count as guessed passwords.
    for one in at_work:
        one.is_ready.wait(INSISTING)
    try:
        for number, name in enumerate(faults):
            if time.monotonic() > began + seconds and set(faults[:number]) == set(faults):
                break
            time.sleep(dice.uniform(*PEACE))
            minutes = (time.monotonic() - began) / 60
            logger.info(
                "after %.1f of %.1f minutes, %d of %d: %s", minutes, seconds / 60, number + 1, len(faults), name
            )
            breaks.inject(name)
        time.sleep(max(PEACE[0], seconds - (time.monotonic() - began)))
        # A slow machine gets to its rarer actions later.
        patience = time.monotonic() + MORE
        while not AUDITED.issuperset(idle(ledger)) and time.monotonic() < patience:
            time.sleep(PEACE[0])
    finally:
        over.set()
        for one in at_work:
            one.join(INSISTING + 60)
    ledger.measured["traffic"].append(time.monotonic() - began)
    ledger.wrong += [f"{one.kind} did not end" for one in at_work if one.is_alive()]
    ledger.wrong += [
        f"{one.kind} {one.path}: {one.status or 'no answer'} after {one.ended - one.began:.1f} s, while nothing was broken"
        for one in ledger.unexcused()
    ]
    ledger.before_audit = len(ledger.wrong)
    logger.info("after %.1f minutes, the audit", (time.monotonic() - began) / 60)
    auditor.audit(place.site, place.uri, content, ledger)
    return ledger


def idle(ledger: Ledger) -> list[str]:
    """Return the kinds of traffic that never succeeded, because a trial without them shows nothing."""
    return sorted(kind for kind in KINDS if not ledger.done[kind])
