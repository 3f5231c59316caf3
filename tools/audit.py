"""`python -m tools.audit`: check the packages in requirements.lock for known vulnerabilities.

The exit code is 0 if no advisory applies, 1 if some apply, and 2 if the check failed. Additional arguments are passed
to pip-audit.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tools.lock import LOCK, ROOT

CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2
# Time limit in seconds for all packages, which are queried one by one.
SECONDS = 300


def verdict(output: str, errors: str) -> tuple[int, str]:
    """Return the exit code and a message for pip-audit's report and log.

    pip-audit's own exit code isn't reliable. It is 1 even if the advisories can't be reached, and 0 even if they don't
    include a package.
    """
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        return UNKNOWN, f"Not audited: {errors.strip().rpartition(chr(10))[2] or 'pip-audit had no output.'}"
    skipped = [f"{package['name']} ({package['skip_reason']})" for package in packages if "vulns" not in package]
    locked = sum("==" in line for line in LOCK.read_text().splitlines())
    if skipped or len(packages) != locked:
        return UNKNOWN, f"Audited {len(packages) - len(skipped)} of {locked} packages, not {', '.join(skipped)}."
    lines = [
        f"{package['name']} {package['version']}: {advisory['id']}, "
        f"mended in {', '.join(advisory['fix_versions']) or 'no version'}"
        for package in packages
        for advisory in package["vulns"]
    ]
    if lines:
        return VULNERABLE, "\n".join(lines)
    return CLEAN, f"No advisory lists any of the {locked} packages."


def audit(arguments: Sequence[str] = ()) -> tuple[int, str]:
    """Run pip-audit, and return the exit code and a message."""
    with tempfile.TemporaryDirectory() as cache:  # an empty cache, so that no response is older than this run
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--require-hashes", "--disable-pip"]
        command += ["--format", "json", "--progress-spinner", "off", "--cache-dir", cache, *arguments]
        try:
            completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return UNKNOWN, f"Not audited: no end after {SECONDS} seconds."
    return verdict(completed.stdout, completed.stderr)


def main() -> None:
    """Print the result and exit with its code."""
    status, text = audit(sys.argv[1:])
    print(text, file=sys.stderr if status else sys.stdout)
    sys.exit(status)


if __name__ == "__main__":
    main()
