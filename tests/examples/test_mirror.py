"""examples/mirror.py: a folder of JSON files that follows a site, whatever happens to either."""

import json
import random
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from api.changes import change_log
from api.changes.relay import relay
from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing import build
from examples.mirror import NOT_THERE, Mirror, asking
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.errors import NodeError
from nodes.models import stored_site
from nodes.services import drafts, editing, site, trash
from nodes.types import TagChange
from reader import page_cache
from tests.support.changes import lose_history
from tests.support.nodes import photo_build
from tests.support.processes import until
from tests.support.running import served

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "examples/mirror.py"


def kept(folder):
    """Return the nodes in a mirror, by id."""
    return {file.stem: json.loads(file.read_text()) for file in (folder / "nodes").glob("*.json")}


def present(ask):
    """Return the nodes that readers see, each read by its id."""
    everything = [str(one["_id"]) for home in ("cms.nodes", "cms.assets.files") for one in database()[home].find()]
    # Read without the fields of a list, because a mirror reads lists and is compared with each single node.
    found = {key: ask(f"nodes/{key}") for key in everything}
    return {key: said for key, said in found.items() if said}


def resets():
    """Return how often readers were told to start again."""
    return database()["cms.changes"].count_documents({"kind": "reset"})


def asking_by(client):
    """Return a function that sends requests to the site without a server."""
    page_cache.storage.clear()

    def ask(path, **query):
        answer = client.get(f"/api/v1/{path}", query)
        assert answer.status_code in (200, *NOT_THERE), answer.content
        return json.loads(answer.content) if answer.status_code == 200 else None

    return ask


@pytest.fixture
def ask(mongo):
    return asking_by(Client())


def test_mirror_with_a_token_contains_what_its_owner_sees(mongo, tmp_path):
    editor = get_user_model()._default_manager.create_user("ed", "ed@example.org", "pw", is_staff=True)
    editor.groups.set(Group.objects.filter(name="Editors"))
    secret = tokens.create(editor, "mirror", (Scope.READ,))[1]
    ask = asking_by(Client(headers={"Authorization": f"Bearer {secret}"}))
    section = build.node("folder", "hall", published=None)
    page = build.node("basic-page", "one", parent=section)
    drafts.save_draft(build.EDITOR, page, build.nonce(page), {"title": "Drafted"})
    photo_build.upload(photo_build.gallery(), fields={"published": None})
    relay()
    mirror = Mirror(tmp_path, ask, sees_more=True)
    mirror.follow()
    assert kept(tmp_path) == present(ask)
    assert kept(tmp_path)[str(page)]["draft"]["nonce"]
    assert len(kept(tmp_path)) == 4
    build.save(section, build.nonce(section), slug="house")
    relay()
    mirror.follow()
    assert kept(tmp_path) == present(ask)
    assert kept(tmp_path)[str(page)]["path"] == "/house/one"


def test_mirror_follows_changes(ask, tmp_path):
    section = build.node("folder", "hall")
    page, moved = build.node("basic-page", "one", parent=section), build.node("blog", "news", parent=section)
    post = build.node("blog-entry", "hello", parent=moved, tags=("ink",), text="Some text")
    photo_build.upload(photo_build.gallery())
    relay()
    mirror = Mirror(tmp_path, ask)
    assert (mirror.follow(), kept(tmp_path)) == (False, present(ask))
    assert len(kept(tmp_path)) == 6

    def is_in_step():
        relay()
        while mirror.follow():
            pass
        return kept(tmp_path) == present(ask)

    build.save(post, build.nonce(post), title="Again")
    trash.trash(build.EDITOR, page, build.nonce(page))
    site.save_settings({"name": "Quill"}, {"name": "Marginalia"})
    assert is_in_step()
    assert json.loads((tmp_path / "site.json").read_text())["name"] == "Quill"
    build.save(section, build.nonce(section), slug="house")
    assert is_in_step()
    assert kept(tmp_path)[str(post)]["path"] == "/house/news/hello"
    build.save(section, build.nonce(section), published=None)
    assert is_in_step()
    assert str(post) not in kept(tmp_path)
    lose_history()
    build.save(section, build.nonce(section), published=build.PAST)
    assert is_in_step()
    assert str(post) in kept(tmp_path)
    database()["cms.changes"].delete_many({})
    trash.trash(build.EDITOR, post, build.nonce(post))
    assert is_in_step()


CHANGES, KILLS, LOST = 2_000, 100, 3


class Writers:
    """Writers that change a site: pages, posts, sections, the trash, dates."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.blogs = [build.node("blog", f"blog-{number}") for number in range(4)]
        self.folders = [build.node("folder", f"folder-{number}") for number in range(6)]
        self.posts = [build.node("blog-entry", f"p{n}", parent=self.random.choice(self.blogs)) for n in range(40)]
        self.number, self.done = 0, {}

    def change(self):
        """Make one change of a random kind. If the state forbids it, another kind is tried."""
        acts = (
            [self.save] * 8
            + [self.add] * 3
            + [self.schedule] * 3
            + [self.publish] * 2
            + [self.discard, self.tag, self.draft, self.move, self.name]
        )
        while True:
            act = self.random.choice(acts)
            self.number += 1
            try:
                act()
            except NodeError:
                continue
            self.done[act.__name__] = self.done.get(act.__name__, 0) + 1
            return

    def soon(self):
        return now() + timedelta(seconds=self.random.uniform(-1, 8))

    def any(self):
        return self.random.choice(self.posts)

    def save(self):
        key = self.any()
        build.save(key, build.nonce(key), title=f"Title {self.number}", detail__text=f"Text {self.number}")

    def add(self):
        parent = self.random.choice(self.blogs)
        published = self.random.choice([build.PAST, None, self.soon()])
        self.posts.append(build.node("blog-entry", f"n{self.number}", parent=parent, published=published))

    def schedule(self):
        key = self.any()
        field = self.random.choice(["published", "expires"])
        build.save(key, build.nonce(key), **{field: self.soon()})

    def publish(self):
        key = self.any()
        build.save(key, build.nonce(key), published=self.random.choice([build.PAST, None]))

    def discard(self):
        key = self.any()
        trash.trash(build.EDITOR, key, build.nonce(key))
        if self.random.random() < 0.5:
            self.posts.remove(key)
        else:
            trash.restore(build.EDITOR, key)

    def tag(self):
        editing.change_tags(self.any(), TagChange(frozenset({f"tag-{self.number % 7}"}), frozenset()))

    def draft(self):
        key = self.any()
        drafts.save_draft(build.EDITOR, key, build.nonce(key), {"title": f"Draft {self.number}"})

    def move(self):
        """Move, rename, unpublish or publish a section."""
        key = self.random.choice([*self.blogs, *self.folders])
        said = self.random.choice(
            [
                {"parent_id": self.random.choice([None, *self.folders])},
                {"slug": f"s{self.number}"},
                {"published": None},
                {"published": build.PAST},
                {"published": build.PAST},
            ]
        )
        build.save(key, build.nonce(key), **said)

    def name(self):
        seen = stored_site.read().settings.name
        site.save_settings({"name": f"Site {self.number}"}, {"name": seen})


@contextmanager
def relayed(turn):
    """Run a worker that relays changes. It holds `turn` meanwhile."""
    ending = threading.Event()

    def follow():
        while not ending.wait(0.2):
            with turn:
                relay()

    worker = threading.Thread(target=follow)
    worker.start()
    try:
        yield
    finally:
        ending.set()
        worker.join()


def test_mirror_killed_at_random_ends_equal_to_the_site(mongo, tmp_path, record_property):
    seed = random.randrange(1_000_000)
    writers, turn, folder = Writers(seed), threading.Lock(), tmp_path / "mirror"
    kills = set(writers.random.sample(range(CHANGES), KILLS))
    losses = set(writers.random.sample(range(CHANGES // 10, CHANGES), LOST))
    reached, told = set(), []
    relay()
    with served(tmp_path) as web, relayed(turn):
        address = f"http://localhost:{web.port}"

        def mirror(*more):
            return subprocess.Popen([sys.executable, str(SCRIPT), address, str(folder), "--every", "0.05", *more])

        running = mirror()
        try:
            for number in range(CHANGES):
                writers.change()
                if number in losses:
                    with turn:
                        told.append(resets())
                        lose_history()
                    # A change lost before it is listed would be listed only once.
                    until(lambda: resets() >= told[-1] + 2, 60)
                if number in kills:
                    running.send_signal(signal.SIGKILL)
                    assert running.wait(30) == -signal.SIGKILL
                    state = folder / "state.json"
                    reached.add(state.read_text() if state.exists() else "")
                    running = mirror()
            last = now() + timedelta(seconds=9)
            until(lambda: change_log.last().until > last, 120)
        finally:
            running.kill()
            running.wait(30)
        assert mirror("--once").wait(120) == 0
        expected = present(asking(address))
        assert kept(folder) == expected
    entries = database()["cms.changes"].count_documents({})
    assert resets() >= 2 + 2 * LOST
    record_property(
        "did",
        [
            f"seed {seed}: {CHANGES} changes {writers.done}, {entries} entries, {resets()} resets",
            f"killed {KILLS} times at {len(reached)} states; {len(expected)} nodes at the end",
        ],
    )
