"""`make mutants`: remove guards one by one in a copy of the code. The test named for each guard must then fail.

If no test notices that a guard is missing, nothing tests the guard. The table then contains `survives`, and the exit
code is 1. The command also fails if a guard's code has changed, until the guard in tests/mutants/guards/ is updated.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from queue import SimpleQueue

from marginalia.testing.mongod import EphemeralMongod
from tests.mutants.cutting import Mutant, Outdated, taken_out
from tests.mutants.guards import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "__pycache__", ".*_cache", ".hypothesis", "node_modules", "images", "build"
)
# Seconds that a test can take without its guard. A test that hangs instead of failing also counts as failed.
PATIENCE = 120
PASSED, FAILED = 0, 1


class Copy:
    """A copy of the code in which guards are removed temporarily, with its own test database."""

    def __init__(self, folder: Path, name: str) -> None:
        self.root = folder / name
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=NOT_COPIED)
        self._environment = {**os.environ, "TEST_MONGODB_NAME": f"test_{name}"}

    def run(self, tests: Sequence[str], marked: str = "not slow or slow_after") -> tuple[int, str]:
        """Run tests until one fails, and return pytest's exit code and output. The exit code is FAILED if the tests hang."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", marked, "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(
                command,
                cwd=self.root,
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE * len(tests),
            )
        except subprocess.TimeoutExpired:
            return FAILED, "it did not end"
        return done.returncode, done.stdout + done.stderr

    def without(self, mutant: Mutant) -> tuple[int, str]:
        """Run the mutant's test without its guard."""
        file = self.root / mutant.file
        source = file.read_text()
        file.write_text(taken_out(mutant, source))
        try:
            return self.run([mutant.test], mutant.marked)
        finally:
            file.write_text(source)


def judge(mutants: Sequence[Mutant], copies: int) -> bool:
    """Print a line for each mutant, and return whether tests noticed all of them.

    Raises:
        Outdated: The code of a guard has changed.
    """
    for mutant in mutants:
        taken_out(mutant, (ROOT / mutant.file).read_text())
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        free: SimpleQueue[Copy] = SimpleQueue()
        for number in range(copies):
            free.put(Copy(Path(folder), f"mutants{number}"))

        @contextmanager
        def copy() -> Iterator[Copy]:
            chosen = free.get()
            try:
                yield chosen
            finally:
                free.put(chosen)

        def passes(tests: Sequence[str], marked: str) -> bool:
            with copy() as whole:
                code, said = whole.run(tests, marked)
            if code != PASSED:
                say(f"{said}\nThe tests must pass before anything is taken out.")
            return code == PASSED

        def one(mutant: Mutant) -> bool:
            with copy() as broken:
                began = time.monotonic()
                code, said = broken.without(mutant)
            verdict = {PASSED: "survives", FAILED: "noticed"}.get(code, f"pytest ended with {code}")
            say(f"{mutant.guard:34} {verdict:10} {time.monotonic() - began:5.1f} s  {mutant.test}")
            if code not in (PASSED, FAILED):
                say(said)
            return code == FAILED

        with ThreadPoolExecutor(copies) as pool:
            for marked in sorted({mutant.marked for mutant in mutants}):
                tests = sorted({mutant.test for mutant in mutants if mutant.marked == marked})
                parts = [part for part in (tests[n::copies] for n in range(copies)) if part]
                if not all([*pool.map(passes, parts, repeat(marked))]):
                    return False
            noticed = list(pool.map(one, mutants))
    say(f"{sum(noticed)} of {len(noticed)} missing guards were noticed.")
    return all(noticed)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description="Take guards out one by one: the test named for each must fail.")
    parser.add_argument("guards", nargs="*", help="parts of the names of guards; all without any")
    parser.add_argument("--copies", type=int, default=(os.cpu_count() or 1) + 1, help="how many at once")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.guards or any(part in m.guard for part in options.guards)]
    server = None
    if "TEST_MONGODB_URI" not in os.environ:
        server = EphemeralMongod(journaled=False)
        os.environ["TEST_MONGODB_URI"] = server.start()
    try:
        return 0 if chosen and judge(chosen, options.copies) else 1
    except Outdated as error:
        say(str(error))
        return 1
    finally:
        if server:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
