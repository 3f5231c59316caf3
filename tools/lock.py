"""`python -m tools.lock`: write requirements.lock, or, with --into, install its packages in a folder.

The lock contains the packages of requirements.txt with the hashes of their wheels for the image: CPython 3.11 on Linux
x86-64. Therefore, installed packages are identical to the tested packages, regardless of their source.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINS, LOCK = ROOT / "requirements.txt", ROOT / "requirements.lock"
WHEELS = ["--only-binary=:all:", "--no-deps", "--implementation=cp", "--python-version=3.11"]
WHEELS += ["--platform=manylinux2014_x86_64", "--platform=manylinux_2_28_x86_64"]
HEADER = "# Made by `make lock` from requirements.txt: the wheels for CPython 3.11 on Linux x86-64, by their hashes.\n"


def install(*options: str) -> None:
    """Run pip for the image's platform.

    Raises:
        CalledProcessError: pip failed.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([*command, *WHEELS, *options], check=True)


def lock() -> str:
    """Return the text of the lock file, with the wheel that pip finds for each pinned package."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        install("--dry-run", "--ignore-installed", "--target", folder, "--report", str(report), "-r", str(PINS))
        packages = json.loads(report.read_text())["install"]
    # The name in a package's metadata can differ from the name in its pin by hyphens and underscores. The lock contains
    # the names from the pins.
    pins = [line.partition("==")[0] for line in PINS.read_text().splitlines() if "==" in line]
    names = {pin.lower().replace("_", "-"): pin for pin in pins}
    lines = []
    for package in packages:
        name = names[package["metadata"]["name"].lower().replace("_", "-")]
        version = package["metadata"]["version"]
        digest = package["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name}=={version} --hash=sha256:{digest}\n")
    return HEADER + "".join(sorted(lines, key=str.lower))


def main() -> None:
    """Write the lock file, or install its packages in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", metavar="FOLDER", help="install what is locked here")
    folder = parser.parse_args().into
    if folder:
        install("--require-hashes", "--target", folder, "-r", str(LOCK))
    else:
        LOCK.write_text(lock())


if __name__ == "__main__":
    main()
