"""Code and templates are read when the site starts, so an upgrade can change the files afterwards."""

import pytest
from django.template.autoreload import reset_loaders
from django.template.loader import get_template
from django.template.loaders.filesystem import Loader
from django.test import Client

from cms.serving.loading import load_all
from tests.support.site_settings import run_python

pytestmark = pytest.mark.slow

# Modules that Django imports at the first request that needs them.
LATE = (
    "reader.views.pages",
    "cms.context_processors",
    "cms.requests.uploads",
    "api.rights.passwords",
    "marginalia.mongo.engine.compiler",
)


@pytest.fixture
def loaded():
    reset_loaders()
    load_all()
    yield
    reset_loaders()


def test_no_template_is_read_after_the_start(loaded, mongo, monkeypatch):
    read = []
    monkeypatch.setattr(Loader, "get_contents", lambda self, origin: read.append(origin.name) or "")
    assert Client().get("/no-such-page").status_code == 404
    for name in ("admin/change_list.html", "registration/password_reset_form.html"):
        get_template(name)
    assert read == []


def test_code_is_imported_before_processes_fork(tmp_path):
    """A fork copies neither threads nor open connections correctly, so none exists at that time."""
    script = (
        "import sys, threading, cms.wsgi; from cms.serving.loading import load_all; load_all();"
        "from django.db import connection;"
        "print({*sys.argv[1:]} - sys.modules.keys(), threading.active_count(), connection.connection)"
    )
    environment = {"VAR_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "cms.settings"}
    done = run_python(environment, "-c", script, *LATE)
    assert done.stdout == "set() 1 None\n", done.stderr


def test_faulty_template_does_not_stop_the_start(settings, tmp_path):
    (tmp_path / "faulty.html").write_text("{% no_such_tag %}")
    (tmp_path / "photo.png").write_bytes(b"\xff\xfe")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    load_all()
