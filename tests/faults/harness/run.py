"""One trial: traffic on a site while it is broken again and again, and then the audit."""

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

# Seconds of peace between two faults: an error in them is the site's own.
PEACE = (1.5, 4.0)
# Seconds beyond its time for which a trial goes on, as long as something was never done.
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
# What the audit finds was done: nobody waits for it.
AUDITED = {"promotions"}


Place = OnEmbedded | OnReplicaSet
Cast = Callable[[Place, Content, Ledger, threading.Event, random.Random], list[Traffic]]


def people(place: Place, content: Content, ledger: Ledger, over: threading.Event, dice: random.Random) -> list[Traffic]:
    """Return one or two of each kind."""

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
    """Do `faults` in this order, while everybody works for at least so many seconds: on a slow machine no more of them than
    that time has room for, but each kind once. Audit, and return the book."""
    ledger, dice, over = Ledger(), random.Random(seed), threading.Event()
    content = prepared(place.site, ledger)
    breaks = breaking(place, content, ledger, dice)
    at_work = cast(place, content, ledger, over, dice)
    began = time.monotonic()
    for one in at_work:
        one.start()
    # All are one editor's account: a few log-ins cut off would be taken for guesses at passwords.
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
        # A slow machine comes to its rarer acts later.
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
    """Return the kinds of traffic that got nothing done: a trial without them shows nothing."""
    return sorted(kind for kind in KINDS if not ledger.done[kind])
