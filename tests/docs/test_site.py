"""What the documents say is so: settings, dependencies, commands and links."""

import re
from importlib import import_module, metadata

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import get_commands

from mongo.collections import declared
from tests.support.site_settings import ROOT, documented, loaded, production

DOCUMENTS = sorted([*ROOT.glob("*.md"), ROOT / "deploy/README.md", *(ROOT / "docs").rglob("*.md")])
# Read where they are used, not in the settings module.
ELSEWHERE = {"MONGOD", "WEB_CONCURRENCY"}
PACKAGES = ("api", "cms", "comments", "local", "markup", "mongo", "nodes", "wordpress")
# A permission, and a field of the nodes.
NO_CODE = {"comments.can_moderate", "comments.author.id"}


def test_every_variable_is_documented_and_no_other():
    source = (ROOT / "cms/settings.py").read_text()
    read = set(re.findall(r'(?:env\.\w+\(|\(env, )"([A-Z_]+)"', source))
    assert set(documented()) == read | ELSEWHERE


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_variables_read_elsewhere_are_read(name):
    sources = (path.read_text() for package in ("local", "cms") for path in (ROOT / package).rglob("*.py"))
    assert any(f'"{name}"' in source for source in sources)


def test_defaults_are_those_documented(tmp_path):
    expected = {
        "PORT": "PORT", "MONGODB_DATABASE": "DATABASES['default']['NAME']", "LANGUAGE_CODE": "LANGUAGE_CODE",
        "MONGODB_SELECTION_TIMEOUT_MS": "DATABASES['default']['OPTIONS']['serverSelectionTimeoutMS']",
        "MONGODB_TIMEOUT_MS": "DATABASES['default']['OPTIONS']['timeoutMS']", "TIME_ZONE": "TIME_ZONE",
        "DEFAULT_FROM_EMAIL": "DEFAULT_FROM_EMAIL", "LOG_LEVEL": "LOG_LEVEL", "PAGE_CACHE_MB": "PAGE_CACHE_BYTES // 2**20",
        "ALLOWED_HOSTS": "','.join(ALLOWED_HOSTS)",
    }  # fmt: skip
    shown = "; ".join(f"print({value})" for value in expected.values())
    answer = loaded({"VAR_DIR": str(tmp_path)}, "-c", f"from cms.settings import *; {shown}")
    assert answer.returncode == 0, answer.stderr
    table = documented()
    assert answer.stdout.splitlines() == [table[name].strip("`") for name in expected]


def test_documented_production_passes_the_deployment_check(tmp_path):
    environment = production() | {"VAR_DIR": str(tmp_path)}
    answer = loaded(environment, "manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert answer.returncode == 0, answer.stderr
    # HSTS for subdomains and in browsers' lists: not for the site alone, so not on by default.
    assert settings.SILENCED_SYSTEM_CHECKS == ["security.W005", "security.W021"]
    assert "no issues (2 silenced)" in answer.stdout


@pytest.mark.parametrize("missing", ["SECRET_KEY", "MONGODB_URI", "SITE_URL", "EMAIL_URL"])
def test_production_without_what_protects_it_is_refused(tmp_path, missing):
    environment = production() | {"VAR_DIR": str(tmp_path)}
    del environment[missing]
    answer = loaded(environment, "manage.py", "check", "--deploy")
    assert answer.returncode != 0
    assert missing in answer.stderr


@pytest.mark.parametrize("value", ["example.org", "https://example.org/path", "ftp://example.org", "https://"])
def test_a_site_url_that_is_none_is_refused_by_name(tmp_path, value):
    answer = loaded({"VAR_DIR": str(tmp_path), "SITE_URL": value}, "manage.py", "check")
    assert answer.returncode != 0
    assert "SITE_URL" in answer.stderr


def test_a_site_url_loses_its_slash(tmp_path):
    answer = loaded(
        {"VAR_DIR": str(tmp_path), "SITE_URL": "https://example.org/"},
        "-c",
        "from cms.settings import *; print(SITE_URL)",
    )
    assert answer.stdout == "https://example.org\n"


@pytest.mark.parametrize(
    ("section", "files"),
    [(0, ["requirements.txt"]), (1, ["requirements-mongod.txt", "requirements-dev.txt"])],
    ids=["at run time", "for tests"],
)
def test_every_dependency_is_documented_and_installed(section, files):
    """By name and version, with a licence and a reason; nothing is documented that is not installed."""
    listed = "".join((ROOT / name).read_text() for name in files)
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)", listed, re.MULTILINE))
    table = (ROOT / "docs/reference/dependencies.md").read_text().split("\n## ")[section]
    rows = re.findall(r"^\| ([\w-]+) \| (\d\S*) \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert {name: version for name, version, _licence, _reason in rows} == pinned
    assert {name: metadata.version(name) for name in pinned} == pinned


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_commands_of_documents_lead_somewhere(document):
    text = document.read_text()
    for target in re.findall(r"\]\((?!https?:|photo:|node:)([^)#]+)(?:#[^)]*)?\)", text):
        assert (document.parent / target).exists(), target
    known = set(get_commands())
    assert set(re.findall(r"manage\.py ([a-z_]+)", text)) <= known
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_tests_that_documents_name_are_there(document):
    for path, test in re.findall(r"`((?:[a-z_.]+/)+[\w.]+\.(?:py|md|toml|sh))(?:::(\w+))?`", document.read_text()):
        assert (ROOT / path).is_file(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), f"{path}::{test}"
    for folder in re.findall(rf"`((?:{'|'.join(PACKAGES)}|tests|tools)/(?:[a-z_]+/)*)`", document.read_text()):
        assert (ROOT / folder).is_dir(), folder


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_of_the_code_that_documents_name_are_there(document):
    """Collections, models and fields are spelled alike: what a collection or a model is called is no name of the code."""
    named = set(re.findall(rf"`((?:{'|'.join(PACKAGES)})(?:\.\w+)+)`", document.read_text()))
    stored = {item.collection.name for item in declared()} | {model._meta.label_lower for model in apps.get_models()}
    for name in named - stored - NO_CODE:
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


@pytest.mark.parametrize("name", ["architecture", "nodes", "comments", "conversion", "security"])
def test_every_invariant_names_what_holds_it(name):
    text = (ROOT / f"docs/explanation/{name}.md").read_text()
    tables = re.findall(r"^\| .*\| Held by \|\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert tables
    for row in "".join(tables).splitlines():
        assert re.search(r"\| `tests/[\w/]+\.py(?:::\w+)*`[^|]*\|$", row), row


def test_every_document_is_in_an_index():
    """Each folder's pages are in docs/README.md, or in the folder's own README.md, which is in docs/README.md."""
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text()
    for document in docs.rglob("*.md"):
        own = document.parent / "README.md"
        listed = own.exists() and own != document and f"({document.name})" in own.read_text()
        name = document.relative_to(docs).as_posix()
        assert name == "README.md" or listed or f"({name})" in index, name


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120
