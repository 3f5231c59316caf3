"""Lighthouse scores of four pages of the demo on a simulated phone (`make lighthouse`)."""

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
PAGES = {"home": "/", "post": "/essays/the-wide-margin", "gallery": "/plates", "search": "/search"}
# The minimum median score for each category, out of 100. The performance score also depends on the machine.
MINIMUM = {"performance": 99, "accessibility": 100, "best-practices": 100, "seo": 100}
CLI = Path(__file__).parent / "node_modules/lighthouse/cli/index.js"


def main() -> int:
    """Print the median scores and the failed audits. Return 1 if a median is below its MINIMUM."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not chromium or not CLI.exists():
        sys.exit("This benchmark needs Chromium and Lighthouse. Run `make lighthouse` to install them.")
    with site.temporary_site() as folder:
        site.set_up()
        from benchmarks import web

        with web.serve("cms.wsgi:application", folder) as server:
            low = [
                name
                for name, path in PAGES.items()
                if not _is_good(name, _lighthouse_reports(server.port, path, chromium))
            ]
    print(f"Load average at the end: {os.getloadavg()[0]:.1f}")
    return 1 if low else 0


def _lighthouse_reports(port: int, path: str, chromium: str) -> list[dict[str, Any]]:
    """Return ROUNDS reports on a page, each with a new browser profile.

    Raises:
        CalledProcessError: Lighthouse failed.
    """
    flags = "--headless=new --no-sandbox" if os.geteuid() == 0 else "--headless=new"
    command = [
        "node",
        str(CLI),
        f"http://127.0.0.1:{port}{path}",
        "--output=json",
        "--quiet",
        f"--chrome-flags={flags}",
    ]
    command += [f"--only-categories={','.join(MINIMUM)}", "--no-enable-error-reporting"]
    environment = {**os.environ, "CHROME_PATH": chromium}
    return [
        json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)
        for _ in range(ROUNDS)
    ]


def _is_good(name: str, reports: list[dict[str, Any]]) -> bool:
    """Print the scores of a page. Return whether all medians reach the minimum."""
    scores = {key: [round(100 * report["categories"][key]["score"]) for report in reports] for key in MINIMUM}
    summary = (f"{key} {median(values):g} ({min(values)}–{max(values)})" for key, values in scores.items())
    print(f"{name}: {', '.join(summary)}", flush=True)
    for line, times in Counter(line for report in reports for line in _lost_points(report)).items():
        print(f"  {line}, in {times} of {ROUNDS}")
    return all(median(values) >= MINIMUM[key] for key, values in scores.items())


def _lost_points(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield each audit that lost points, with up to three places on the page."""
    for key in MINIMUM:
        for part in report["categories"][key]["auditRefs"]:
            audit = report["audits"][part["id"]]
            if part["weight"] and audit["score"] is not None and audit["score"] < 1:
                items = audit.get("details", {}).get("items", [])
                places = (item.get("node", {}).get("snippet", "") for item in items if "node" in item)
                yield " ".join((key, part["id"], *list(places)[:3]))


if __name__ == "__main__":
    sys.exit(main())
