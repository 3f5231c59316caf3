"""The checks of `make release`, which run before its tests and builds."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.site_settings import ROOT

VERSION = "9.8.7"
HEADING = f"## {VERSION} - 2026-11-27"
VERSIONED = ("pyproject.toml", "package/pyproject.toml", "marginalia/__init__.py")


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def commit(folder: Path) -> None:
    name = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    for command in (("add", "--all"), (*name, "commit", "--quiet", "--message", "Release")):
        done = run(folder, "git", *command)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def clone(tmp_path) -> Path:
    """Return a repository with the files that the checks read, in which everything is ready for a release."""
    for name in (*VERSIONED, "tools/release.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in VERSIONED:
        set_version(tmp_path / name, VERSION)
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## Unreleased\n\n{HEADING}\n\n- A change.\n")
    (tmp_path / "tests/releases").mkdir(parents=True)
    (tmp_path / f"tests/releases/{VERSION}.jsonl").touch()
    run(tmp_path, "git", "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def set_version(path: Path, version: str) -> None:
    path.write_text(re.sub(r'((?:fallback-version|__version__) = )"[^"]*"', rf'\1"{version}"', path.read_text()))


def refusal(clone: Path) -> str:
    """Return the message with which the checks refuse the release, or "" if they pass."""
    done = run(clone, "tools/release.sh", "--check")
    assert bool(done.returncode) == bool(done.stderr), done.stdout + done.stderr
    return done.stderr


def test_prepared_commit_passes_all_checks_and_gets_no_tag(clone):
    assert refusal(clone) == ""
    assert run(clone, "git", "tag").stdout == ""


def test_uncommitted_changes_are_refused(clone):
    (clone / "new.txt").touch()
    assert "The working tree has uncommitted changes" in refusal(clone)


@pytest.mark.parametrize("heading", ["## 9.8.7", "## 9.8.70 - 2026-11-27", "## 9x8.7 - 2026-11-27"])
def test_changelog_without_a_dated_entry_is_refused(clone, heading):
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace(HEADING, heading))
    commit(clone)
    assert "CHANGELOG.md has no entry for 9.8.7." in refusal(clone)


@pytest.mark.parametrize("name", VERSIONED[1:])
def test_different_versions_are_refused(clone, name):
    set_version(clone / name, "9.8.6")
    commit(clone)
    assert f"The version in {name} isn't 9.8.7" in refusal(clone)


def test_development_version_is_refused(clone):
    for name in VERSIONED:
        set_version(clone / name, "9.9.dev0")
    commit(clone)
    assert "The version in pyproject.toml is “9.9.dev0”" in refusal(clone)


def test_release_without_stored_data_is_refused(clone):
    (clone / f"tests/releases/{VERSION}.jsonl").unlink()
    commit(clone)
    assert f"tests/releases/{VERSION}.jsonl is missing" in refusal(clone)


def test_existing_tag_is_refused(clone):
    assert run(clone, "git", "tag", f"v{VERSION}").returncode == 0
    assert "The tag v9.8.7 already exists" in refusal(clone)
