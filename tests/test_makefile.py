"""The output of make before it has an interpreter."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def make(tmp_path):
    """Run make in a copy of the Makefile's folder without a virtual environment."""
    for path in (ROOT / "Makefile", *ROOT.glob("requirements*.txt")):
        shutil.copy(path, tmp_path)

    def run(*words):
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PORT"))}
        result = subprocess.run(
            ["make", *words], cwd=tmp_path, env=outside, capture_output=True, text=True, check=False
        )
        assert not (tmp_path / ".venv").exists()
        assert not (tmp_path / ".venv-next").exists()
        return result

    return run


def interpreter(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"PYTHON={path}"


def test_help_lists_every_target(make):
    listed = {line.split()[1] for line in make().stdout.splitlines()}
    assert listed == {
        "help",
        "docs",
        "run",
        "test",
        "test-next",
        "test-slow",
        "lint",
        "bench",
        "lighthouse",
        "soak",
        "mutants",
        "screenshots",
        "vendor",
        "image",
        "package",
        "release",
        "lock",
        "sbom",
        "audit",
        "clean",
    }


def test_port_of_the_settings_file_is_not_overridden(make):
    """The environment overrides the file .env."""
    assert "PORT" not in {line.partition(" ")[0] for line in make("--print-data-base", "help").stdout.splitlines()}


def test_missing_interpreter_is_reported(make):
    result = make("run", "PYTHON=no-such-python")
    assert result.returncode
    assert result.stderr.startswith("No no-such-python here: install Python 3.11 or later")


@pytest.mark.parametrize(
    ("target", "version", "oldest"),
    [("run", (3, 9, 2), "3.11"), ("run", (3, 10, 0), "3.11"), ("test-on-next", (3, 11, 7), "3.12")],
)
def test_old_interpreter_is_reported(make, tmp_path, target, version, oldest):
    old = interpreter(
        tmp_path / "old", f"""exec python3 -c "import sys; sys.version_info = {version}; exec(sys.argv[1])" "$2" """
    )
    result = make(target, old)
    assert result.returncode
    assert f"This target needs Python {oldest} or later" in result.stderr
    assert f"is {version[0]}.{version[1]}: name another" in result.stderr


def test_interpreter_without_venv_is_reported(make, tmp_path):
    bare = interpreter(tmp_path / "bare", 'case "$2" in *ensurepip*) exit 1;; esac')
    result = make("run", bare)
    assert result.returncode
    assert "lacks its venv module: on Debian and Ubuntu, apt-get install python3-venv" in result.stderr
