"""What the worst texts cost: seconds of the processor to render, to derive what is searched, to merge and to compare."""

import time
from collections.abc import Callable

from benchmarks import site
from benchmarks.report import grid
from benchmarks.timing import clocked
from marginalia.markup import text
from marginalia.markup.comparing import diff, merge
from marginalia.markup.html import clean
from marginalia.markup.markdown import limits, render
from tests.markup import worst

SIZE = 100_000 if site.QUICK else 1_000_000
# Seconds that no text of SIZE may take, and how many of the slowest are shown.
MOST = 5.0
SHOWN = 12


def main() -> int:
    """Print the slowest of each kind; return 1 if one took longer than MOST."""
    rendered = {name: _rendered(source) for name, source in worst.texts(SIZE).items()}
    compared = {name: _compared(*versions) for name, versions in worst.versions(SIZE).items()}
    for title, found in (("Rendered and derived", rendered), ("Merged and compared", compared)):
        slowest = sorted(found.items(), key=lambda entry: -entry[1])[:SHOWN]
        print(f"\n{title}, {SIZE:,} characters\n")
        print(grid(["text", "seconds"], [(f"`{name}`", f"{seconds:.2f}") for name, seconds in slowest]), flush=True)
    return int(max(*rendered.values(), *compared.values()) > MOST)


def _as_long_as_rendered(source: str) -> str:
    """Return so much of a text that it stays just below the bound of marks, where it is not shown as it was typed."""
    marks = limits.marks(source)
    return source[: len(source) * limits.MOST_MARKS * 99 // (marks * 100)] if marks > limits.MOST_MARKS else source


def _rendered(source: str) -> float:
    """Return what the slower of the two formats takes, as a save does it."""

    def derived(html: str) -> None:
        text.plain(html, 200_000)
        text.excerpt(html, 40)

    return max(
        _spent(lambda: derived(render(_as_long_as_rendered(source), "article"))),
        _spent(lambda: derived(clean(source, "article"))),
    )


def _compared(base: str, mine: str, theirs: str) -> float:
    """Return what the slowest takes of a merge, and of the differences word by word."""
    return max(
        _spent(lambda: merge.merge(base, mine, theirs)),
        _spent(lambda: diff.words(base, mine)),
        _spent(lambda: diff.words(mine, theirs)),
    )


def _spent(work: Callable[[], object]) -> float:
    return clocked(work, time.process_time)
