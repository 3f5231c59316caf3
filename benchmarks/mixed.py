"""Readers of many pages while others comment and save, compared with a bare view (docs/internals/benchmarks.md)."""

import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import busy_site, report, site
from benchmarks.busy_site import POSTS
from benchmarks.readers import Readings

# Number of seconds for the warm-up, for the measurement of readers, and for the measurement of the bare view.
WARM_SECONDS, SECONDS, BARE_SECONDS = (10, 20, 5) if site.QUICK else (60, 120, 10)
# gunicorn's threads per worker for the bare view, independent of the site's settings.
BARE_THREADS = 8
GOAL, HITS_GOAL = 0.27, 0.9
# Keys of the workers' event counts. All other keys are parts of the code, with the number of their samples.
COUNTED = frozenset({"pages", "kept", "renewed", "commands"})


def main() -> None:
    """Measure the readers, and publish the results."""
    with site.temporary_site() as folder:
        started = time.perf_counter()
        # The site has more nodes than posts, because a fifth of the nodes are pages, and some are drafts.
        site.set_up(POSTS * 4 // 3)
        busy_site.add_comments()
        paths = busy_site.public_paths()
        print(f"Created {len(paths):,} URLs in {time.perf_counter() - started:.0f} s", flush=True)
        report.publish("mixed", _tables(folder, paths))


def _tables(folder: Path, paths: list[str]) -> list[report.Table]:
    from benchmarks import web

    gthread = ("--worker-class", "gthread", "--threads", str(BARE_THREADS))
    bare_view = web.serve_bare(folder, arguments=gthread)
    with bare_view as bare, web.serve_watched(folder) as (server, counts):
        run_readers(server, paths, WARM_SECONDS)
        turns = [run_readers(bare, ["/"], BARE_SECONDS)]
        alone = Turn(server, counts, paths)
        turns.append(run_readers(bare, ["/"], BARE_SECONDS))
        with busy_site.writers():
            run_readers(server, paths, WARM_SECONDS)
            mixed = Turn(server, counts, paths)
        turns.append(run_readers(bare, ["/"], BARE_SECONDS))
    with web.serve_watched(folder, WATCHED_CLOSELY="1") as (server, counts), busy_site.writers():
        run_readers(server, paths, WARM_SECONDS)
        closely = Turn(server, counts, paths)
    usual = statistics.median(turn.rate for turn in turns)
    slowest, _middle, fastest = sorted(turn.rate / usual for turn in turns)
    named = {"only readers": alone, "readers and writers": mixed}
    rows: list[list[object]] = [
        ["bare view", f"{usual:,.0f}", f"{slowest:.2f}–{fastest:.2f}", *turns[1].format_latencies(), "", "", "", ""]
    ]
    rows += [[name, *turn.row(usual)] for name, turn in named.items()]
    about = ABOUT.format(**globals(), busy=busy_site, web=web, share=mixed.readings.rate / usual, hits=mixed.hits)
    profile = PROFILE.format(commands=closely.commands, hits=closely.hits, own=mixed.readings.client_ms)
    parts = [[name, f"{share:.0%}"] for name, share in closely.parts()]
    return [
        report.Table("Mixed traffic", about, COLUMNS, rows),
        report.Table("Mixed traffic, by part", profile, ["Part", "Time"], parts),
    ]


COLUMNS = ["", "Pages/s", "Share", "p50, ms", "p99, ms", "From the cache", "Renewed", "Web, ms", "MongoDB, ms"]
ABOUT = """The site serves {share:.1%} as many pages per second as a [bare view](#pages-per-second) (goal: {GOAL:.0%}),
and {hits:.0%} of the pages come from the cache (goal: {HITS_GOAL:.0%}). The site has {busy.POSTS:,} posts with
{busy.COMMENTS:,} comments. Comments and requests follow Zipf's law: the post of rank n gets 1/n as many comments and
requests as the first post. Readers request the home page, posts, lists by section, tag and author, feeds, and a photo,
over {web.CONNECTIONS} connections without pauses. At the same time, another process posts a comment every
{busy.COMMENT_EVERY:g} s, adds a sentence to a post every {busy.SAVE_EVERY:g} s, and adds or removes a tag every
{busy.TAG_EVERY:g} s. `serve` starts {web.WORKERS} workers. The bare view uses the same number of gthread workers, with
{BARE_THREADS} threads each. The bare view is measured for {BARE_SECONDS} s before, between and after the other
measurements. In the row of the bare view, *Share* shows the range of these three results. The site is measured for
{SECONDS} s after a warm-up of {WARM_SECONDS} s. *Web* and *MongoDB* show the CPU time that each of them uses per page.
MongoDB's CPU time includes its work for the writers. *Renewed* is the percentage of pages for which only the discussion
was rendered again."""
PROFILE = """To measure these percentages, the benchmark samples the code that runs during requests, while other
processes write to the database. The percentages include time spent waiting. Sampling slows the site down. In this
measurement, a page needed {commands:.2f} commands on average, and {hits:.0%} of the pages came from the cache. The
simulated readers used {own:.2f} ms of CPU time per page."""


class Turn:
    """One measurement of SECONDS, with the counts of the workers and the CPU time of the web server and MongoDB."""

    def __init__(self, server: Any, counts: Callable[[], Counter[str]], paths: list[str]) -> None:
        before = counts()
        cpu_before = server.cpu_seconds()
        self.readings = run_readers(server, paths, SECONDS)
        self.cpu_seconds = [after - b for after, b in zip(server.cpu_seconds(), cpu_before, strict=True)]
        self.counts = counts() - before

    @property
    def hits(self) -> float:
        """Return the share of pages that came from the cache."""
        return self.counts["kept"] / self.counts["pages"]

    @property
    def renewed(self) -> float:
        """Return the share of pages that came from the cache, but whose discussion was rendered again."""
        return self.counts["renewed"] / self.counts["pages"]

    @property
    def commands(self) -> float:
        """Return the number of commands per page."""
        return self.counts["commands"] / self.counts["pages"]

    def row(self, bare: float) -> list[object]:
        """Return the figures of a table row. `bare` is the rate of the bare view."""
        costs = [f"{seconds * 1_000 / self.readings.pages:.2f}" for seconds in self.cpu_seconds]
        rate = self.readings.rate
        return [
            f"{rate:,.0f}",
            f"{rate / bare:.3f}",
            *self.readings.format_latencies(),
            f"{self.hits:.3f}",
            f"{self.renewed:.3f}",
            *costs,
        ]

    def parts(self) -> Iterator[tuple[str, float]]:
        """Yield (part of the code, share of the time) of the sampled requests, largest share first."""
        samples = Counter({name: n for name, n in self.counts.items() if name not in COUNTED})
        for name, n in samples.most_common():
            yield name, n / samples.total()


def run_readers(server: Any, paths: list[str], seconds: float) -> Readings:
    """Run readers for a server in a separate process."""
    from benchmarks import web

    options = {"port": server.port, "paths": paths, "seconds": seconds, "connections": web.CONNECTIONS}
    command = [sys.executable, "-m", "benchmarks.readers"]
    completed = subprocess.run(command, input=json.dumps(options), capture_output=True, text=True, check=False)
    if completed.returncode:
        raise RuntimeError(completed.stderr[-2_000:])
    return Readings(**json.loads(completed.stdout))
