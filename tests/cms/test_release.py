"""The version that the command line and /metrics report."""

import subprocess
import sys
import tomllib

import django
import pytest
from django.test import Client

from cms import __version__
from tests.support.scraping import Scraped
from tests.support.site_settings import ROOT


def test_version_of_a_clone_is_the_one_of_builds_without_git():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert settings["tool"]["hatch"]["version"]["fallback-version"] == __version__


@pytest.mark.parametrize("argument", ["--version", "version"])
def test_manage_version_reports_the_site_and_django(argument):
    done = subprocess.run([sys.executable, "manage.py", argument], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Marginalia {__version__} (Django {django.__version__}, ")


def test_metrics_contain_build_info(mongo, settings):
    settings.METRICS_NETWORKS = ["127.0.0.0/8"]
    metrics = Client().get("/metrics").content.decode()
    assert "build_info" in {name.removeprefix("marginalia_") for name in Scraped(metrics).names}
    assert f'version="{__version__}"' in metrics
