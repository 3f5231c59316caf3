"""`python -m tools.audit`: whether advisories name a package of requirements.lock.

Ends with 0 where none does, 1 where some do, 2 where it could not be found out. Further arguments are pip-audit's own.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tools.lock import LOCK, ROOT

CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2
# For all packages, which are asked for one by one.
SECONDS = 300


def verdict(output: str, errors: str) -> tuple[int, str]:
    """Return the exit status and what to say of pip-audit's report and log, which hold where its own status does not: it ends
    with 1 also where it reached no advisories, and well where those it reached do not know a package."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        return UNKNOWN, f"Not audited: {errors.strip().rpartition(chr(10))[2] or 'pip-audit said nothing.'}"
    skipped = [f"{package['name']} ({package['skip_reason']})" for package in packages if "vulns" not in package]
    locked = sum("==" in line for line in LOCK.read_text().splitlines())
    if skipped or len(packages) != locked:
        return UNKNOWN, f"Audited {len(packages) - len(skipped)} of {locked} packages, not {', '.join(skipped)}."
    found = [
        f"{package['name']} {package['version']}: {one['id']}, mended in {', '.join(one['fix_versions']) or 'no version'}"
        for package in packages
        for one in package["vulns"]
    ]
    if found:
        return VULNERABLE, "\n".join(found)
    return CLEAN, f"No advisory names any of {locked} packages."


def audit(arguments: Sequence[str] = ()) -> tuple[int, str]:
    """Ask for advisories; return the exit status and what to say."""
    with tempfile.TemporaryDirectory() as cache:  # of its own: nothing older than this run
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--require-hashes", "--disable-pip"]
        command += ["--format", "json", "--progress-spinner", "off", "--cache-dir", cache, *arguments]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return UNKNOWN, f"Not audited: no end after {SECONDS} seconds."
    return verdict(done.stdout, done.stderr)


def main() -> None:
    """Say what was found, and end with its status."""
    status, text = audit(sys.argv[1:])
    print(text, file=sys.stderr if status else sys.stdout)
    sys.exit(status)


if __name__ == "__main__":
    main()
