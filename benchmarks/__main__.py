"""Run some or all benchmarks, each in its own process, because a process reads settings only once."""

import argparse
import subprocess
import sys
from importlib import import_module

NAMES = (
    "start",
    "pages",
    "mixed",
    "renewed",
    "flat",
    "search",
    "discussion",
    "footprint",
    "comments",
    "decisions",
    "importing",
    "admin_list",
    "photos",
    "validators",
    "texts",
    "slow_senders",
    "serving",
    "copies",
    "facets",
    "attack",
)
# These benchmarks run only if they are named, because they install packages from other projects or need a browser.
BY_NAME = ("peers", "spam_filter", "typing_delay")


def main() -> int:
    """Run the benchmarks from the command line, and return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"benchmarks to run: {', '.join((*NAMES, *BY_NAME))}")
    names = parser.parse_args().names
    if unknown := set(names) - {*NAMES, *BY_NAME}:
        parser.error(f"unknown benchmarks: {', '.join(sorted(unknown))}")
    if len(names) == 1:
        return _run(names[0])
    failed = [name for name in names or NAMES if subprocess.run([sys.executable, "-m", "benchmarks", name]).returncode]
    print(f"Failed: {', '.join(failed)}" if failed else "All benchmarks have finished.")
    return int(bool(failed))


def _run(name: str) -> int:
    module = import_module(f"benchmarks.{name}")
    print(f"{name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
    sys.argv[1:] = []
    return int(module.main() or 0)


if __name__ == "__main__":
    sys.exit(main())
