"""Facts in the documents match the code: settings, dependencies, commands and links."""

import re
import tomllib
from importlib import import_module, metadata
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import get_commands

from cms.environment.table import Environment
from marginalia import __version__
from marginalia.mongo.collections import declared_collections
from tests.docs.packages import PACKAGES
from tests.support.site_settings import ROOT, documented, documented_rows, production, run_python

DOCUMENTS = sorted([*ROOT.glob("*.md"), ROOT / "deploy/README.md", *(ROOT / "docs").rglob("*.md")])
# A permission, and a field of the nodes.
NO_CODE = {"marginalia_comments.can_moderate", "comments.author.id"}
# File name extensions.
FILES = {"css", "html", "js", "jsonl", "md", "service", "socket", "timer"}


def test_table_of_settings_matches_the_code():
    assert documented_rows() == [(name, default_of(name), values_of(name)) for name in Environment.model_fields]


def default_of(name: str) -> str:
    """Return a setting's default as the document writes it. The document has its own words for one that depends on the site."""
    default = Environment.model_fields[name].default
    if default in (None, "", []) or name == "EMAIL_URL":
        words = documented()[name]
        assert words.startswith("*(") or " if local, " in words, name
        return words
    if isinstance(default, bool):
        return "`on`" if default else "`off`"
    if isinstance(default, list):
        return f"`{','.join(default)}`"
    return f"`{default.relative_to(ROOT) if isinstance(default, Path) else default}`"


def values_of(name: str) -> str:
    """Return a setting's range, or the values that it can have, as the document writes them."""
    field = Environment.model_fields[name]
    if field.annotation in (bool, bool | None):
        return "`on`, `off`"
    if get_origin(field.annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(field.annotation))
    return "–".join(
        str(getattr(limit, kind)) for limit in field.metadata for kind in ("ge", "le") if hasattr(limit, kind)
    )


def test_documented_production_settings_pass_the_check(tmp_path):
    environment = production() | {"VAR_DIR": str(tmp_path)}
    answer = run_python(environment, "manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert answer.returncode == 0, answer.stderr
    # HSTS for subdomains and preload lists affects more than this site, so it is off by default.
    assert settings.SILENCED_SYSTEM_CHECKS == ["security.W005", "security.W021"]
    assert "no issues (2 silenced)" in answer.stdout


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("missing", ["SECRET_KEY", "MONGODB_URI", "SITE_URL", "EMAIL_URL"])
def test_production_without_a_protective_setting_is_refused(tmp_path, missing):
    environment = production() | {"VAR_DIR": str(tmp_path)}
    del environment[missing]
    answer = run_python(environment, "manage.py", "check", "--deploy")
    assert answer.returncode != 0
    assert missing in answer.stderr


@pytest.mark.parametrize(
    ("section", "files"),
    [(0, ["requirements.txt"]), (1, ["requirements-mongod.txt", "requirements-dev.txt"])],
    ids=["at run time", "for tests"],
)
def test_every_dependency_is_documented_and_installed(section, files):
    """By name and version, with a licence and a reason. Every documented dependency is installed."""
    listed = "".join((ROOT / name).read_text() for name in files)
    pinned = pins(listed)
    table = (ROOT / "docs/reference/dependencies.md").read_text().split("\n## ")[section]
    rows = re.findall(r"^\| ([\w-]+) \| (\d\S*) \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert {name: version for name, version, _licence, _reason in rows} == pinned
    newest = pins((ROOT / "requirements-next.txt").read_text())
    with_newest = {name: newest.get(name, version) for name, version in pinned.items()}
    assert {name: metadata.version(name) for name in pinned} in (pinned, with_newest)


def pins(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+)==(\S+)", text, re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_commands_in_documents_exist(document):
    text = document.read_text()
    for target in re.findall(r"\]\((?!https?:|photo:|node:)([^)#]+)(?:#[^)]*)?\)", text):
        assert (document.parent / target).exists(), target
    known = set(get_commands())
    assert set(re.findall(r"manage\.py ([a-z_]+)", text)) <= known
    makefiles = (ROOT / "Makefile").read_text() + (ROOT / "package/marginalia_cms/site/Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefiles, re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_tests_named_in_documents_exist(document):
    for path, test in re.findall(r"`((?:[a-z_.]+/)+[\w.]+\.(?:py|md|toml|sh))(?:::(\w+))?`", document.read_text()):
        assert (ROOT / path).is_file(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), f"{path}::{test}"
    for folder in re.findall(rf"`((?:{'|'.join(PACKAGES)}|tests|tools)/(?:[a-z_]+/)*)`", document.read_text()):
        assert (ROOT / folder).is_dir(), folder


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_of_code_in_documents_exist(document):
    """Collections, models and fields look alike, so names of collections and models are excluded."""
    packages = "|".join(name for name in PACKAGES if name != "comments")
    named = set(re.findall(rf"`((?:{packages})(?:\.\w+)+)`", document.read_text()))
    stored = {item.collection.name for item in declared_collections()} | {
        model._meta.label_lower for model in apps.get_models()
    }
    for name in named - stored - NO_CODE:
        if name.rpartition(".")[2] in FILES or re.search(r"\.[EW]\d{3}$", name):  # files, and ids of checks
            continue
        assert _is_there(name), name


def _is_there(name: str) -> bool:
    """Return whether a module, or what can be reached from one by attributes, has this name."""
    module, *rest = name.split(".")
    found = import_module(module)
    for part in rest:
        module = f"{module}.{part}"
        try:
            found = getattr(found, part) if hasattr(found, part) else import_module(module)
        except ImportError:
            return False
    return True


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_nested_blocks_are_indented_by_four_spaces(document):
    """Parsers of Markdown disagree about other numbers."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    nested = re.findall(r"^( +)(?:```|[-*] |\d+\. )", text, re.MULTILINE)
    assert {len(indent) % 4 for indent in nested} <= {0}


# Pages that contain invariants, and each table of invariants names a test in its last column.
WITH_INVARIANTS = [path for path in sorted((ROOT / "docs/internals").glob("*.md")) if "| Held by |" in path.read_text()]


@pytest.mark.parametrize("page", WITH_INVARIANTS, ids=lambda path: path.stem)
def test_every_invariant_names_its_test(page):
    tables = re.findall(r"^\| .*\| Held by \|\n\|[-| ]+\|\n((?:\|.*\n)+)", page.read_text(), re.MULTILINE)
    assert tables
    for row in "".join(tables).splitlines():
        assert re.search(r"\| `tests/[\w/]+\.py(?:::\w+)*`[^|]*\|$", row), row


def test_invariants_of_every_app_are_documented():
    assert {path.stem for path in WITH_INVARIANTS} >= {
        "operations",
        "nodes",
        "photos",
        "reader",
        "editor",
        "comments",
        "design",
        "changes",
        "security",
    }


def test_every_document_is_in_an_index():
    """Each folder's pages are in docs/README.md, or in the folder's own README.md, which is in docs/README.md."""
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text()
    for document in docs.rglob("*.md"):
        own = document.parent / "README.md"
        listed = own.exists() and own != document and f"({document.name})" in own.read_text()
        name = document.relative_to(docs).as_posix()
        assert name == "README.md" or listed or f"({name})" in index, name


def test_badges_match_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    badges = re.findall(r">([^<>]+)</text>", (ROOT / "docs/images/badges.svg").read_text())
    shown = dict(zip(badges[::2], badges[1::2], strict=True))
    assert __version__.startswith(shown["version"] + ".")
    assert shown["licence"] == project["license"]
    assert project["requires-python"] == ">=" + shown["Python"].removeprefix("≥ ")
    assert {f"Framework :: Django :: {version}" for version in shown["Django"].split(" | ")} <= set(
        project["classifiers"]
    )
