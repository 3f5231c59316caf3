"""Permissions on photos, and where they are shown: a cell for every account, state and action."""

from collections.abc import Callable
from functools import partial

import pytest
from bson import ObjectId
from django.core.files.uploadedfile import SimpleUploadedFile

from cms.testing import build
from tests.rights import by_action
from tests.rights.world import KINDS, Thing, World, body, is_refused, rows, stored, told, translations, word
from tests.support.nodes import pictures

STATES = ("live", "draft", "scheduled", "expired", "private", "trashed")
# Accounts that write or publish (o, w, e, a) see the library, including files of hidden photos.
READING = """
                     live  draft  scheduled  expired  private  trashed
its page             +     -      -          -        -        -
original             +     owea   owea       owea     owea     -
download             +     owea   owea       owea     owea     -
rendition            +     owea   owea       owea     owea     -
square               +     owea   owea       owea     owea     -
wrong gallery        +     owea   owea       owea     owea     -
stale address        +     owea   owea       owea     owea     -
gallery              +     -      -          -        -        -
tag page             +     -      -          -        -        -
found by camera      +     -      -          -        -        -
gallery RSS          +     -      -          -        -        -
gallery Atom         +     -      -          -        -        -
gallery JSON Feed    +     -      -          -        -        -
tag Atom             +     -      -          -        -        -
sitemap              +     -      -          -        -        -
a text that shows it +     -      -          -        -        -
discussion           +     -      -          -        -        -
comment form         +     -      -          -        -        -
comment feed         +     -      -          -        -        -
library              owea  owea   owea       owea     owea     -
page in the library  owea  owea   owea       owea     owea     -
"""
# Accounts that cannot see the library, and so get "not found".
STRANGERS = ("anonymous", "reader", "moderator")
# Every cell is checked with the actions themselves (nodes.actions).
WRITING = """
                     live  draft  scheduled  expired  private  trashed
replace              ea    ea     ea         ea       ea       -
edit                 ea    ea     ea         ea       ea       -
describe             ea    ea     ea         ea       ea       -
publish              -     ea     ea         ea       -        -
publish in bulk      -     ea     ea         ea       -        -
schedule             -     ea     ea         -        -        -
unpublish            ea    -      ea         ea       ea       -
move                 ea    ea     ea         ea       ea       -
tag                  ea    ea     ea         ea       ea       -
trash                ea    ea     ea         ea       ea       -
put back             -     -      -          -        -        ea
delete for good      -     -      -          -        -        a
"""
# The admin translates requests into these actions: checked with one permitted and one other account.
TRANSLATED = """
                     state  may  not
edit                 draft  e    o
publish              draft  e    o
unpublish            live   e    o
move                 live   e    o
tag                  draft  e    o
trash                live   e    o
trash in bulk        live   e    o
replace              live   e    o
"""
PATHS: dict[str, Callable[[Thing], str]] = {
    "its page": lambda t: t.path,
    "original": lambda t: f"/media/{t.id}/{t.first}/original",
    "download": lambda t: f"/media/{t.id}/{t.first}/original?download",
    "rendition": lambda t: f"/media/{t.id}/{t.first}/w320.jpg",
    "square": lambda t: f"/media/{t.id}/{t.first}/s160-50x50.jpg",
    "wrong gallery": lambda t: f"/media/{t.id}/{t.first}/{'0' * 24}/original",
    "stale address": lambda t: f"/media/{t.id}/{'0' * 24}/original",
    "gallery": lambda t: t.path.rpartition("/")[0],
    "tag page": lambda t: "/tag/shared",
    "found by camera": lambda t: "/media/find?camera=Nikon+Z+8",
    "gallery RSS": lambda t: f"{t.path.rpartition('/')[0]}/feed/rss",
    "gallery Atom": lambda t: f"{t.path.rpartition('/')[0]}/feed/atom",
    "gallery JSON Feed": lambda t: f"{t.path.rpartition('/')[0]}/feed/json",
    "tag Atom": lambda t: "/tag/shared/feed/atom",
    "sitemap": lambda t: "/sitemap-photo-1.xml",
    "a text that shows it": lambda t: f"/shows-{t.id}",
    "discussion": lambda t: f"/comments/on/nodes.photo/{t.id}",
    "comment form": lambda t: f"/comments/form/nodes.photo/{t.id}",
    "comment feed": lambda t: f"/comments/feed/nodes.photo/{t.id}",
    "library": lambda t: "/admin/nodes/photo/",
    "page in the library": lambda t: f"/admin/nodes/photo/{t.id}/change/",
}
FILES = {"original", "download", "rendition", "square", "wrong gallery"}


@pytest.fixture(scope="module")
def photos(world: World) -> dict[str, Thing]:
    """A photo in every state, and a page whose text shows it."""
    found = {state: world.photo(state) for state in STATES}
    for thing in found.values():
        build.node(slug=f"shows-{thing.id}", title="Shows", text=f"![](photo:{thing.id})")
    return found


def shows_it(world, photos, action, state, kind, shows):
    thing = photos[state]
    path = PATHS[action](thing)
    answer = world.ask(kind, path)
    said = body(answer)
    if not shows:
        assert word(state) not in said
        assert f"/media/{thing.id}" not in said
        assert thing.slug not in said or thing.slug in path
        if action in FILES or str(thing.id) in path and "shows" not in path:
            assert is_refused(answer)
            nowhere = world.ask(kind, path.replace(str(thing.id), str(ObjectId())))
            assert told(nowhere) == told(answer), "who may not see it is told what is told of nothing at all"
        return
    if action == "stale address":
        assert answer.status_code == 302
        return
    assert answer.status_code == 200
    if action in FILES:
        assert answer["Content-Type"] == "image/jpeg"
        assert ("immutable" in answer["Cache-Control"]) is (state == "live"), "what is not public is kept by no cache"
    else:
        assert thing.slug in said if action == "sitemap" else word(state) in said or str(thing.id) in said


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("action", "row"), rows(READING, STATES))
def test_photo_is_shown_to_the_right_accounts(world, photos, action, row):
    row.ask(partial(shows_it, world, photos, action))


def send(world: World, thing: Thing, action: str, kind: str) -> bool:
    """Send the action to the admin, and return whether it was done."""
    before = stored(thing.id)
    nonce, library = str(before["metadata"]["nonce"]), "/admin/nodes/photo/"
    other = world.dark if before["metadata"]["parent_id"] == world.gallery else world.gallery
    bulk = {"chosen": str(thing.id), f"nonce-{thing.id}": nonce, "target": str(other), "tags": "added"}
    match action:
        case "edit":
            form = {"title": "Changed", "alt": "Alt", "slug": thing.slug, "nonce": nonce, "form": str(ObjectId())}
            form |= {
                "section": str(before["metadata"]["parent_id"]),
                "author_name": "Ann",
                "tags_seen": '["shared"]',
                "_save": "x",
            }
            form |= {"tags": "shared", "comments": "", "summary": "x", "focal": ""}
            world.ask(kind, f"{library}{thing.id}/change/", form)
        case "trash":
            world.ask(kind, f"{library}{thing.id}/trash/", {"nonce": nonce})
        case "replace":
            file = SimpleUploadedFile("new.jpg", by_action.PICTURE, "image/jpeg")
            world.ask(kind, f"{library}{thing.id}/replace/?seen={nonce}", {"file": file})
        case _:
            world.ask(kind, library, {**bulk, "action": action.removesuffix(" in bulk"), "confirmed": "1"})
    return by_action.is_done(world, action, before, stored(thing.id))


@pytest.fixture(scope="module")
def untouched(world: World) -> dict[str, Thing]:
    """Photos that only accounts without permission act on, so they stay unchanged."""
    return {state: world.photo(state) for state in STATES}


def does(world, untouched, action, state, kind, may):
    thing = world.photo(state) if may else untouched[state]
    # An account that can replace a file can replace every file, so the refusal reveals nothing about this one.
    by_action.ask(world, thing, action, kind, may, () if action == "replace" else STRANGERS)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("action", "row"), rows(WRITING, STATES, quick=KINDS))
def test_photo_actions_need_the_right_account(world, untouched, action, row):
    row.ask(partial(does, world, untouched, action))


@pytest.mark.parametrize(("action", "state", "may", "not_"), translations(TRANSLATED))
def test_requests_have_the_same_permissions_as_actions(world, action, state, may, not_):
    thing = world.photo(state)
    before = stored(thing.id)
    assert not send(world, thing, action, not_)
    assert stored(thing.id) == before
    assert send(world, thing, action, may)


@pytest.mark.parametrize("kind", ["anonymous", "reader", "owner", "author", "editor", "moderator", "administrator"])
def test_photos_are_uploaded_by_the_right_accounts(world, kind):
    for gallery, who in ((world.gallery, "owner author editor administrator"), (world.dark, "editor administrator")):
        file = SimpleUploadedFile("new.jpg", pictures.jpeg(picture=pictures.image(seed=hash(kind) % 99)), "image/jpeg")
        answer = world.ask(kind, f"/admin/nodes/photo/upload/{gallery}/", {"files": file, "publish": "1", "alt": "x"})
        assert is_refused(answer) is (kind not in who.split())
    if kind in ("owner", "author"):
        newest = build.database()["cms.assets.files"].find_one(
            {"metadata.type": "photo"}, sort=[("metadata.created", -1)]
        )
        assert newest["metadata"]["published"] is None, "uploading is not publishing"
