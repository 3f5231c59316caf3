"""The packages allow the versions of Django that the tests use, and the support policy lists these versions."""

import importlib.util
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.releases import dumps
from tests.support.site_settings import ROOT

NAMES = ("Django", "django-mongodb-backend")
REQUIREMENTS = {"make test": "requirements.txt", "make test-next": "requirements-next.txt"}


def pins(file: str) -> dict[str, Version]:
    lines = (ROOT / file).read_text().splitlines()
    return {line.partition("==")[0]: Version(line.partition("==")[2]) for line in lines if line.startswith(NAMES)}


def comments_dependencies() -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]


def cms_dependencies() -> list[str]:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "package/hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    metadata = {"version": "0.1"}
    module.DependenciesHook(str(ROOT / "package"), {}).update(metadata)
    return metadata["dependencies"]


@pytest.mark.parametrize("file", REQUIREMENTS.values())
@pytest.mark.parametrize("dependencies", [comments_dependencies, cms_dependencies])
def test_package_allows_the_tested_versions(dependencies, file):
    ranges = {found.name: found.specifier for found in map(Requirement, dependencies()) if found.name in NAMES}
    assert {name: version in ranges[name] for name, version in pins(file).items()} == dict.fromkeys(NAMES, True)


@pytest.mark.parametrize("dependencies", [comments_dependencies, cms_dependencies])
def test_package_allows_later_patch_releases_of_the_last_tested_series(dependencies):
    specifier = next(found.specifier for found in map(Requirement, dependencies()) if found.name == "Django")
    last = pins("requirements-next.txt")["Django"]
    later, untested = f"{last.major}.{last.minor}.{last.micro + 9}", f"{last.major}.{last.minor + 1}"
    assert (later in specifier, untested in specifier) == (True, False)


def test_support_policy_lists_the_tested_versions():
    text = (ROOT / "docs/reference/support.md").read_text()
    rows = re.findall(r"^\| `(make [a-z-]+)` \| [\d.]+ \| ([\d.]+) \| ([\d.]+) \|", text, re.MULTILINE)
    expected = {
        command: [f"{found.major}.{found.minor}" for found in pins(file).values()]
        for command, file in REQUIREMENTS.items()
    }
    assert {command: series for command, *series in rows} == expected


@pytest.mark.parametrize("guide", ["deploy.md", "deploy-on-one-server.md"])
def test_guides_install_the_latest_release(guide):
    text = (ROOT / "docs/how-to" / guide).read_text()
    assert re.findall(r"\$ git checkout v(\S+)", text) == [max((path.stem for path in dumps.paths()), key=Version)]
