"""The doctor on a whole site, and on settings that are wrong in production."""

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from marginalia.mongo import doctor
from marginalia.mongo.doctor import ADVICE, ERROR

ROOT = Path(__file__).parents[2]


def found(**options) -> dict[str, str]:
    return {finding.name: finding.level for finding in doctor.examine(**options)}


@pytest.mark.slow
def test_demo_site_has_no_errors_and_no_warnings(mongo):
    call_command("load_demo", verbosity=0)
    call_command("work", "--once", stdout=StringIO())
    out = StringIO()
    call_command("doctor", stdout=out)
    assert "0 errors, 0 warnings" in out.getvalue(), out.getvalue()
    assert set(found().values()) == {ADVICE}


def test_exactly_the_existing_findings_are_documented():
    folders = (ROOT, ROOT / "marginalia")
    modules = [
        *(ROOT / "marginalia/mongo/doctor").glob("*.py"),
        *(path for folder in folders for path in folder.glob("*/doctor.py")),
    ]
    named = {name for path in modules for name in re.findall(r'"([a-z]+(?:-[a-z]+)+)"', path.read_text())}
    table = re.findall(r"^\| `([a-z][a-z-]*)` \|", (ROOT / "docs/reference/doctor.md").read_text(), re.MULTILINE)
    assert named | {"standalone", "unreachable"} == set(table)


@pytest.mark.slow
def test_missing_key_in_production_is_an_error(mongo, settings):
    assert "no-key" not in found()
    assert found(production=True)["no-key"] == ERROR
    settings.SECRET_KEY = "one that somebody chose, long enough and of many different letters: 0123456789"
    assert "no-key" not in found(production=True)


@pytest.mark.slow
def test_local_settings_in_production_are_reported(mongo, settings):
    settings.DATABASES = {"default": {**settings.DATABASES["default"], "HOST": "embedded:var"}}
    levels = found(production=True)
    for name in ("local-hosts", "embedded-server", "no-site-url", "setting-unfit"):
        assert levels[name] == ERROR
    settings.LOCAL, settings.SITE_URL = False, "https://example.org"
    settings.DATABASES["default"]["HOST"] = "mongodb://db.example.org"
    assert not {"local-hosts", "embedded-server", "no-site-url"} & set(found(production=True))


def test_public_site_without_a_key_does_not_start(tmp_path):
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    open_to_all = {"ALLOWED_HOSTS": "example.org", "VAR_DIR": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "manage.py", "doctor"],
        cwd=ROOT,
        env=kept | open_to_all,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 2
    assert "SECRET_KEY is missing" in answer.stderr
