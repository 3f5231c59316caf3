"""CPU seconds of the slowest texts for rendering, deriving searchable text and excerpts, merging and comparing."""

import time
from collections.abc import Callable

from benchmarks import site
from benchmarks.report import grid
from benchmarks.timing import measure_seconds
from marginalia.markup import text
from marginalia.markup.comparing import diff, merge
from marginalia.markup.html import clean
from marginalia.markup.markdown import limits, render
from tests.markup import worst

SIZE = 100_000 if site.QUICK else 1_000_000
# Maximum number of seconds for a text of SIZE characters, and number of slowest texts to print.
MAX_SECONDS = 5.0
ROWS = 12


def main() -> int:
    """Print the slowest texts of each kind. Return 1 if a text took longer than MAX_SECONDS."""
    rendered = {name: _render_seconds(source) for name, source in worst.texts(SIZE).items()}
    compared = {name: _compare_seconds(*versions) for name, versions in worst.versions(SIZE).items()}
    for title, seconds_by_name in (("Rendered and derived", rendered), ("Merged and compared", compared)):
        slowest = sorted(seconds_by_name.items(), key=lambda entry: -entry[1])[:ROWS]
        print(f"\n{title}, {SIZE:,} characters\n")
        print(grid(["text", "seconds"], [(f"`{name}`", f"{seconds:.2f}") for name, seconds in slowest]), flush=True)
    return int(max(*rendered.values(), *compared.values()) > MAX_SECONDS)


def _shorten_to_limit(source: str) -> str:
    """Shorten a text to just below the limit on Markdown marks. Texts above the limit aren't rendered at all."""
    marks = limits.count_marks(source)
    return source[: len(source) * limits.MAX_MARKS * 99 // (marks * 100)] if marks > limits.MAX_MARKS else source


def _render_seconds(source: str) -> float:
    """Return the CPU seconds that saving a text takes, as Markdown or as HTML, whichever is slower."""

    def derive(html: str) -> None:
        text.html_to_text(html, 200_000)
        text.excerpt(html, 40)

    return max(
        _cpu_seconds(lambda: derive(render(_shorten_to_limit(source), "article"))),
        _cpu_seconds(lambda: derive(clean(source, "article"))),
    )


def _compare_seconds(base: str, mine: str, theirs: str) -> float:
    """Return the CPU seconds of the slowest of three operations: a merge and two word-by-word comparisons."""
    return max(
        _cpu_seconds(lambda: merge.merge(base, mine, theirs)),
        _cpu_seconds(lambda: diff.diff_words(base, mine)),
        _cpu_seconds(lambda: diff.diff_words(mine, theirs)),
    )


def _cpu_seconds(work: Callable[[], object]) -> float:
    return measure_seconds(work, time.process_time)
