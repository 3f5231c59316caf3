"""One trial: traffic on a site while it is broken again and again, and then the audit."""

import random
import threading
import time
from collections.abc import Sequence

from tests.faults.harness import auditor
from tests.faults.harness.content import Content, make
from tests.faults.harness.discussing import Converter, Grower, Moderator, Poster
from tests.faults.harness.faults import Faults
from tests.faults.harness.ledger import Ledger
from tests.faults.harness.places import OnEmbedded, OnReplicaSet
from tests.faults.harness.traffic import INSISTING, Editor, Guest, Photographer, Reader, Tagger, Traffic

# Seconds of peace between two faults: an error in them is the site's own.
PEACE = (1.5, 4.0)
# Seconds beyond its time for which a trial goes on, as long as something was never done.
MORE = 120.0
KINDS = {
    "saves", "tags", "posts", "held posts", "uploads", "replaces", "conversions", "decisions", "reads",
    "reads without the database", "posts to short discussions", "conversions to embedded", "conversions from embedded",
    "bounds reached while something was broken", "promotions",
}  # fmt: skip


def trial(place: OnEmbedded | OnReplicaSet, faults: Sequence[str], *, seconds: float, seed: int) -> Ledger:
    """Do each of `faults` once, in this order, while everybody works for at least so many seconds; audit, return the book."""
    ledger, dice, over = Ledger(), random.Random(seed), threading.Event()
    content = make(place.site, ledger)
    breaking = Faults(place, content, ledger, dice)
    people = _people(place, content, ledger, over, dice)
    began = time.monotonic()
    for one in people:
        one.start()
    # All are one editor's account: a few log-ins cut off would be taken for guesses at passwords.
    for one in people:
        one.is_ready.wait(INSISTING)
    try:
        for name in faults:
            time.sleep(dice.uniform(*PEACE))
            breaking.inject(name)
        time.sleep(max(PEACE[0], seconds - (time.monotonic() - began)))
        # A slow machine comes to its rarer acts later.
        patience = time.monotonic() + MORE
        while idle(ledger) and time.monotonic() < patience:
            time.sleep(PEACE[0])
    finally:
        over.set()
        for one in people:
            one.join(INSISTING + 60)
    ledger.measured["traffic"].append(time.monotonic() - began)
    ledger.wrong += [f"{one.kind} did not end" for one in people if one.is_alive()]
    ledger.wrong += [
        f"{one.kind} {one.path}: {one.status or 'no answer'} after {one.ended - one.began:.1f} s, while nothing was broken"
        for one in ledger.unexcused()
    ]
    auditor.audit(place.site, place.uri, content, ledger)
    return ledger


def _people(
    place: OnEmbedded | OnReplicaSet, content: Content, ledger: Ledger, over: threading.Event, dice: random.Random
) -> list[Traffic]:
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


def idle(ledger: Ledger) -> list[str]:
    """Return the kinds of traffic that got nothing done: a trial without them shows nothing."""
    return sorted(kind for kind in KINDS if not ledger.done[kind])
