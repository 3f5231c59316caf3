"""The demo site: complete, repeatable, and removed without a trace."""

from io import StringIO

import pytest
from django.core.management import call_command

from cms.demo import content, loading
from cms.demo.photos import photos
from cms.testing.build import EDITOR, node, nonce
from cms.testing.database import MIGRATED
from marginalia.mongo.clock import now
from marginalia.tasks import queue
from nodes.models import stored_site
from nodes.models.stored_site import StoredSettings
from nodes.selectors import stored_nodes
from nodes.services import trash
from nodes.services.site import save_settings

pytestmark = pytest.mark.slow


def nothing() -> None:
    """A progress callback that shows nothing."""


def documents(mongo) -> dict[str, int]:
    """Return the number of documents in each collection after all jobs.

    The site document, the list of changes and what migrations write don't count.
    """
    call_command("work", "--once", stdout=StringIO())
    mongo.jobs.delete_many({"state": queue.DONE})
    mongo[queue.WORKERS].delete_many({})
    names = set(mongo.list_collection_names()) - MIGRATED - {"cms.site", "cms.changes"}
    return {name: count for name in names if (count := mongo[name].count_documents({}))}


def test_loading_twice_changes_nothing(mongo):
    assert loading.load(now(), nothing).left == 0
    before = list(mongo["cms.nodes"].find().sort("_id"))
    again = loading.load(now(), nothing)
    assert (again.done, again.left) == (0, loading.size())
    assert list(mongo["cms.nodes"].find().sort("_id")) == before


def test_demo_contains_every_kind_of_content(mongo, client):
    loading.load(now(), nothing)
    types = [item.type for item in content.items()]
    assert types.count("blog-entry") >= 12
    assert {"folder", "blog", "gallery", "basic-page"} <= set(types)
    assert any(item.days is None for item in content.items())
    assert any(item.days is not None and item.days < 0 for item in content.items())
    page = client.get("/").content.decode()
    assert "In praise of the wide margin" in page
    assert "A small magazine about reading, writing and making" in page
    assert "short guide to fog" not in page
    assert "世界文学" in page
    post = client.get("/essays/the-wide-margin").content.decode()
    assert post.index("gravy counts as illustrations") < post.index("The flour shows up beautifully.")
    assert "Old Compositor" in post
    gallery = client.get("/plates").content.decode()
    assert gallery.count('<img src="') == sum(photo.path.parent.name == "plates" for photo in photos())
    photo = client.get("/plates/from-the-night-train")
    assert b"with the lamp off" in photo.content
    assert set(mongo.discussions.distinct("schema")) == {"documents", "embedded", "buckets"}
    pamphlet = client.get("/workshop/a-pamphlet-in-an-hour").content.decode()
    assert pamphlet.index("Everyone's first book") < pamphlet.index("Coffee is a finish.") < pamphlet.index("Kofi")
    assert len(mongo["cms.nodes"].find_one({"metadata.slug": "a-pamphlet-in-an-hour"})["comments"]) == 7
    held = client.get("/essays/the-last-letter-writer").content.decode()
    assert "We were the shop on the left." in held
    assert "Best Pens 4 You" not in held
    said = [held["reasons"] for held in mongo["comments.pending"].find().sort("author.name", 1)]
    assert said == [["policy: hold-first"], ["policy: hold-first", "links"]]


def test_demo_shows_the_features_of_a_magazine(mongo, client):
    loading.load(now(), nothing)
    posts = [item for item in content.items() if item.type == "blog-entry"]
    assert sum(bool(item.picture) for item in posts) > len(posts) / 2
    assert all(photo.alt and photo.focal for photo in photos())
    paths = {str(photo.path) for photo in photos()}
    assert {item.picture for item in content.items()} - {""} <= paths
    post = client.get("/essays/the-wide-margin").content.decode()
    assert post.count('class="comment-badge') == 3, "two answers of its author, one of the moderator"
    sum_of_it = client.get("/workshop/how-long-is-a-line").content.decode()
    for shown in ("<math", "<table", '<span class="k', "a stopwatch", "A note on a note"):
        assert shown in sum_of_it
    assert "More like this" in client.get("/workshop/the-awl").content.decode()
    workshop = client.get("/workshop").content.decode()
    assert workshop.index("Pinned") < workshop.index("Ink from oak galls") < workshop.index("A pamphlet in an hour")
    author = client.get("/author/ada-lindqvist", follow=True).content.decode()
    assert "Has glue on her sleeve." in author
    assert "A defence of the footnote" in author
    assert client.get("/tag/one tool at a time").content.decode().count("One tool at a time:") >= 3
    pictures = client.get("/handbook/4-pictures").content.decode()
    assert "The sun is the focal point here." in pictures
    assert 'href="/plates"' in pictures
    home = client.get("/").content.decode()
    assert home.index('href="/handbook"') < home.index('href="/authors"'), "the menu, the footer"
    assert "Made at a kitchen table." in home
    save_settings({"theme": "documentation"}, {"theme": "magazine"})
    handbook = client.get("/handbook/4-pictures").content.decode()
    assert handbook.index("1. A piece") < handbook.index("2. Signs") < handbook.index("Before it is out")


def test_removal_deletes_everything(mongo):
    loading.load(now(), nothing)
    assert loading.remove(nothing).left == 0
    assert documents(mongo) == {}
    assert stored_site.read().settings == StoredSettings()
    assert loading.load(now(), nothing).left == 0


def test_settings_of_an_operator_are_kept(mongo):
    node("folder", "mine")
    loading.load(now(), nothing)
    settings = stored_site.read().settings
    assert (settings.menu, bool(settings.footer_links)) == ([], True), "a menu would hide a section of others"
    save_settings({"footer": "Mine."}, {"footer": settings.footer})
    assert loading.load(now(), nothing).done == 0
    assert loading.remove(nothing).left == 0
    assert stored_site.read().settings == StoredSettings(footer="Mine.")


def test_removal_keeps_content_of_others(mongo, capsys):
    loading.load(now(), nothing)
    essays = content.identifier("essays")
    own = node("blog-entry", "mine", parent=essays)
    trashed = node("blog-entry", "mine-too", parent=content.identifier("workshop"))
    trash.trash(EDITOR, trashed, nonce(trashed))
    call_command("load_demo", remove=True)
    told, *kept = capsys.readouterr().out.splitlines()
    assert ", 2 kept because of other content inside." in told
    assert sorted(kept) == ["Kept: /essays", "Kept: /workshop"]
    assert stored_nodes.get(own).get_absolute_url() == "/essays/mine"
    trash.restore(EDITOR, trashed)
    assert stored_nodes.get(trashed).get_absolute_url() == "/workshop/mine-too"


def test_demo_loads_alongside_other_content(mongo):
    node("folder", "essays")
    site = stored_site.read()
    editing_name = {"name": "My own name"}
    save_settings(editing_name, {"name": site.settings.name})
    loading.load(now(), nothing)
    assert stored_nodes.get(content.identifier("essays")).metadata.slug == "essays-2"
    assert stored_site.read().settings.name == "My own name"


def test_trashed_part_of_the_demo_stays_trashed(mongo):
    loading.load(now(), nothing)
    about = content.identifier("about")
    trash.trash(EDITOR, about, nonce(about))
    assert loading.load(now(), nothing).done == 0
    assert stored_nodes.get(about) is None
    assert loading.remove(nothing).left == 0
    assert documents(mongo) == {}


def test_command_reports_what_it_did(mongo, capsys):
    call_command("load_demo")
    assert f"Demo: {loading.size()} created, 0 already there." in capsys.readouterr().out
    call_command("load_demo", remove=True)
    assert f"Demo: {loading.size()} deleted, 0 kept because of other content inside." in capsys.readouterr().out


def test_photo_files_are_small():
    assert sum(photo.file.stat().st_size for photo in photos()) < 1_500_000
