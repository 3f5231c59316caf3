"""The requests of the traffic, their results, and the periods of deliberate faults."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """A request: its kind, when it started and ended (monotonic seconds), and its status, or 0 without a response.

    `is_refused` is whether the site refused a comment because too many others were being processed.
    """

    kind: str
    path: str
    began: float
    ended: float
    status: int
    is_refused: bool = False

    @property
    def failed(self) -> bool:
        """Return whether the site did not respond, or with an error of its own."""
        return self.status == 0 or self.status >= 500


@dataclass
class Window:
    """The period in which a fault can have effects: from its cause until the site was seen to be well again."""

    fault: str
    began: float
    ended: float = float("inf")


@dataclass(frozen=True)
class Picture:
    """A picture that was sent. Its pixels can be generated again from its seed."""

    seed: int
    acknowledged: bool


@dataclass
class Ledger:
    """The record of one run. Lists grow only by append, so threads can share them."""

    asked: list[Asked] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    # Sentences about errors that must never happen. Each fails the run.
    wrong: list[str] = field(default_factory=list)
    # How many of them the traffic noted itself.
    before_audit: int = 0
    # Acknowledged requests, by kind of traffic.
    done: Counter[str] = field(default_factory=Counter)
    # Editors: (page, who) → the last acknowledged number, and the last sent one.
    saved: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    typed: dict[tuple[str, str], int] = field(default_factory=dict)
    # When each numbered thing was acknowledged, by its text on a page.
    acknowledged: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    tags: dict[str, list[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(list))
    # Comments: every text that was ever sent, and the discussion and URLs of acknowledged ones.
    written: set[str] = field(default_factory=set)
    posted: dict[str, tuple[str, set[str]]] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    approved: dict[str, str] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    # Photos: id → the pictures sent for it, in order. Seeds of uploads without a response.
    photos: dict[str, list[Picture]] = field(default_factory=dict)
    unanswered: list[int] = field(default_factory=list)
    converted: dict[str, str] = field(default_factory=dict)
    # Discussions that start embedded and soon outgrow that: whether conversions interfere with each.
    short: dict[str, bool] = field(default_factory=dict)
    # Facts measured during the run, for the report: name → seconds.
    measured: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def did(self, kind: str, count: int = 1) -> None:
        """Count an acknowledged request."""
        with self._lock:
            self.done[kind] += count

    def acknowledge(self, what: str, number: int) -> None:
        """Note that a number was acknowledged just now."""
        self.acknowledged[what][number] = time.monotonic()

    @contextmanager
    def fault(self, name: str) -> Iterator[Window]:
        """Announce a fault. Until the end of the block, errors are excused."""
        window = Window(name, time.monotonic())
        self.windows.append(window)
        yield window
        window.ended = time.monotonic()
        self.measured[name].append(window.ended - window.began)

    def broken(self, began: float, ended: float) -> bool:
        """Return whether there was a fault at some time between the two."""
        return any(window.began <= ended and began <= window.ended for window in list(self.windows))

    def during(self, window: Window) -> list[Asked]:
        """Return the requests that overlap a period."""
        return [one for one in list(self.asked) if window.began <= one.ended and one.began <= window.ended]

    def unexcused(self) -> list[Asked]:
        """Return the requests that failed without a fault."""
        failed = [one for one in list(self.asked) if one.failed and not one.is_refused]
        return [one for one in failed if not self.broken(one.began, one.ended)]

    def report(self) -> list[str]:
        """Return lines that describe the run: one per fault and per kind of traffic."""
        lines = []
        for name, seconds in sorted(self.measured.items()):
            lines.append(f"{name}: {len(seconds)} times, felt for at most {max(seconds):.1f} s")
        failed = Counter((one.kind, one.status or "no answer") for one in self.asked if one.failed)
        slowest = max((one.ended - one.began for one in self.asked), default=0)
        lines.append(f"requests: {len(self.asked)}, the slowest {slowest:.1f} s; failed: {sum(failed.values())}")
        for (kind, status), count in sorted(failed.items(), key=str):
            lines.append(f"  {kind} {status}: {count}")
        lines.append("acknowledged: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.done.items())))
        return lines
