"""Print results, store them in docs/internals/benchmarks.json, and generate docs/internals/benchmarks.md from it."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.site import QUICK

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "internals" / "benchmarks.json"
PAGE = RESULTS.with_suffix(".md")
HEAD = """# Benchmarks

`make bench` writes this page. [Performance](performance.md) explains the results.
Compare only figures from the same run. On other machines, the ratios are similar, but the times aren't.
"""


@dataclass(frozen=True)
class Table:
    """A table of results, with an explanation of the measurement."""

    title: str
    about: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]

    def markdown(self) -> str:
        """Return the table with its title."""
        return f"## {self.title}\n\n{self.about}\n\n{grid(self.columns, self.rows)}\n"


def grid(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table. All columns except the first are right-aligned."""
    lines = [" | ".join(columns), " | ".join("---" if n == 0 else "--:" for n in range(len(columns)))]
    lines += [" | ".join(str(value) for value in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def publish(name: str, tables: Sequence[Table]) -> None:
    """Print the tables of a benchmark. Unless QUICK is set, also store them and regenerate the page."""
    for table in tables:
        print(f"\n{table.markdown()}", flush=True)
    if QUICK:
        return
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[name] = {"machine": machine(), "tables": [asdict(table) for table in tables]}
    results = dict(sorted(results.items()))
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False, default=str) + "\n")
    parts = [HEAD]
    for result in results.values():
        parts += [Table(**table).markdown() for table in result["tables"]]
        parts.append(f"{result['machine']}\n")
    PAGE.write_text("\n".join(parts))


def machine() -> str:
    """Return a sentence with the date, versions, hardware and load of the run."""
    import pymongo

    versions = {name: metadata.version(name) for name in ("Django", "pymongo", "django-mongodb-backend", "gunicorn")}
    client: pymongo.MongoClient[Any] = pymongo.MongoClient(os.environ["MONGODB_URI"])
    with client:
        server = client.server_info()["version"]
    wrk = subprocess.run(["wrk", "-v"], check=False, capture_output=True, text=True).stdout.split("[")[0].strip()
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"*{datetime.now(UTC):%d %B %Y}; Python {platform.python_version()}, {packages}, MongoDB {server} on the same machine, "
        f"{wrk}; {platform.system()} {platform.machine()}, {os.cpu_count()} × {_processor()}, {_memory()}; "
        f"load average at the end {os.getloadavg()[0]:.1f}.*"
    )


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
