"""Changes whose writer died before it gave the site a new version: whoever tries again tells readers, and time does."""

from datetime import timedelta

import pytest

from mongo.connection import database, now
from nodes import errors, kept, tree
from nodes.services import drafts, trash
from tests.nodes.build import EDITOR, node, nonce


@pytest.fixture
def section(mongo, client):
    """A section that readers have seen."""
    section = node("folder", "section")
    node(slug="page", parent=section)
    assert client.get("/section/page").status_code == 200
    return section


@pytest.fixture
def dying(monkeypatch):
    """Return a function that does some work of a service in a process that dies before it tells anybody."""

    def work(service, function, *arguments):
        def died():
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(service, "touch", died)
            with pytest.raises(KeyboardInterrupt):
                function(*arguments)

    return work


def test_trashing_again_what_is_in_the_trash(section, dying, client):
    seen = nonce(section)
    dying(trash, trash.trash, EDITOR, section, seen)
    with pytest.raises(errors.NodeGone):
        trash.trash(EDITOR, section, seen)
    assert client.get("/section/page").status_code == 404


def test_putting_back_what_is_back(section, dying, client):
    trash.trash(EDITOR, section, nonce(section))
    assert client.get("/section/page").status_code == 404
    dying(trash, trash.restore, EDITOR, section)
    with pytest.raises(errors.NodeGone):
        trash.restore(EDITOR, section)
    assert client.get("/section/page").status_code == 200


def test_publishing_again_a_draft_that_is_published(section, dying, client):
    draft = drafts.save_draft(EDITOR, section, nonce(section), {"published": None}).nonce
    dying(drafts, drafts.publish_draft, EDITOR, section, draft)
    with pytest.raises(errors.DraftGone):
        drafts.publish_draft(EDITOR, section, draft)
    assert client.get("/section/page").status_code == 404


def test_the_tree_is_read_anew_after_a_while(section, dying, monkeypatch):
    dying(trash, trash.trash, EDITOR, section, nonce(section))
    assert section in tree.current().sections
    monkeypatch.setattr(tree, "now", lambda: now() + kept.LONGEST)
    assert section not in tree.current().sections


def test_answers_are_asked_again_after_a_while(section):
    moment, asked = now(), iter(range(9))

    def ask(later):
        return kept.under_version("asked", moment + later, lambda: (next(asked), None))

    assert database()["cms.site"].find_one()["version"]
    assert ask(timedelta(0)) == ask(kept.LONGEST - timedelta(seconds=1)) == 0
    assert ask(kept.LONGEST) == 1
