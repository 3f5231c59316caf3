"""Data cached under the site's version, after a writer died before it renewed the version.

A retry or time repairs it.
"""

from datetime import timedelta

import pytest

from cms.testing.build import EDITOR, node, nonce
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes import errors
from nodes.models import tree, version_cache
from nodes.services import drafts, trash
from tests.support.interrupting import stopped_before_command


@pytest.fixture
def section(mongo, client):
    """A section that readers have seen."""
    section = node("folder", "section")
    node(slug="page", parent=section)
    assert client.get("/section/page").status_code == 200
    return section


def dying():
    """Return a context whose block dies before it renews the site's version."""
    return stopped_before_command(
        "update", "cms.site", lambda command: "texts" in command["updates"][0]["u"].get("$set", {})
    )


def test_repeated_trash_after_a_crash_hides_the_section(section, client):
    seen = nonce(section)
    with dying():
        trash.trash(EDITOR, section, seen)
    with pytest.raises(errors.NodeGone):
        trash.trash(EDITOR, section, seen)
    assert client.get("/section/page").status_code == 404


def test_repeated_restore_after_a_crash_shows_the_section(section, client):
    trash.trash(EDITOR, section, nonce(section))
    assert client.get("/section/page").status_code == 404
    with dying():
        trash.restore(EDITOR, section)
    with pytest.raises(errors.NodeGone):
        trash.restore(EDITOR, section)
    assert client.get("/section/page").status_code == 200


def test_repeated_publish_after_a_crash_shows_the_draft(section, client):
    draft = drafts.save_draft(EDITOR, section, nonce(section), {"published": None}).nonce
    with dying():
        drafts.publish_draft(EDITOR, section, draft)
    with pytest.raises(errors.DraftGone):
        drafts.publish_draft(EDITOR, section, draft)
    assert client.get("/section/page").status_code == 404


def test_tree_is_read_again_after_its_longest_time(section, monkeypatch):
    with dying():
        trash.trash(EDITOR, section, nonce(section))
    assert section in tree.current().sections
    monkeypatch.setattr(tree, "now", lambda: now() + version_cache.LONGEST)
    assert section not in tree.current().sections


def test_cached_value_is_read_again_after_its_longest_time(section):
    moment, asked = now(), iter(range(9))

    def ask(later):
        return version_cache.get_or_set("asked", moment + later, lambda: (next(asked), None))

    assert database()["cms.site"].find_one()["lists"]
    assert ask(timedelta(0)) == ask(version_cache.LONGEST - timedelta(seconds=1)) == 0
    assert ask(version_cache.LONGEST) == 1
