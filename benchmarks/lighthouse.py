"""Lighthouse's scores of a home page, a post and a gallery, as a phone gets them from the demo (`make lighthouse`)."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import site

ROUNDS = 1 if site.QUICK else 5
PAGES = {"home": "/", "post": "/essays/the-wide-margin", "gallery": "/plates"}
# The least median of each category, of 100. How fast a page is depends on the machine, too.
LEAST = {"performance": 99, "accessibility": 100, "best-practices": 100, "seo": 100}
CLI = Path(__file__).parent / "node_modules/lighthouse/cli/index.js"


def main() -> int:
    """Print the medians, and what took points; return 1 if a median is below its LEAST."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not chromium or not CLI.exists():
        sys.exit("This needs Chromium and Lighthouse: `make lighthouse` installs them.")
    with site.served_by_mongod() as folder:
        site.set_up()
        from benchmarks import web

        with web.started("cms.wsgi:application", folder) as server:
            low = [name for name, path in PAGES.items() if not _is_good(name, _looks(server.port, path, chromium))]
    print(f"Load average at the end: {os.getloadavg()[0]:.1f}")
    return 1 if low else 0


def _looks(port: int, path: str, chromium: str) -> list[dict[str, Any]]:
    """Return the reports of ROUNDS looks at a page, each by a browser that was never there. Raises CalledProcessError."""
    flags = "--headless=new --no-sandbox" if os.geteuid() == 0 else "--headless=new"
    command = [
        "node",
        str(CLI),
        f"http://127.0.0.1:{port}{path}",
        "--output=json",
        "--quiet",
        f"--chrome-flags={flags}",
    ]
    command += [f"--only-categories={','.join(LEAST)}", "--no-enable-error-reporting"]
    environment = {**os.environ, "CHROME_PATH": chromium}
    return [
        json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)
        for _ in range(ROUNDS)
    ]


def _is_good(name: str, reports: list[dict[str, Any]]) -> bool:
    """Print what the reports of a page say; return whether each median is high enough."""
    scores = {key: [round(100 * report["categories"][key]["score"]) for report in reports] for key in LEAST}
    told = (f"{key} {median(found):g} ({min(found)}–{max(found)})" for key, found in scores.items())
    print(f"{name}: {', '.join(told)}", flush=True)
    for line, times in Counter(line for report in reports for line in _lost(report)).items():
        print(f"  {line}, in {times} of {ROUNDS}")
    return all(median(found) >= LEAST[key] for key, found in scores.items())


def _lost(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield what took points of a page, and where."""
    for key in LEAST:
        for part in report["categories"][key]["auditRefs"]:
            audit = report["audits"][part["id"]]
            if part["weight"] and audit["score"] is not None and audit["score"] < 1:
                items = audit.get("details", {}).get("items", [])
                places = (item.get("node", {}).get("snippet", "") for item in items if "node" in item)
                yield " ".join((key, part["id"], *list(places)[:3]))


if __name__ == "__main__":
    sys.exit(main())
