"""Write the dump of the version that is going to be released. The module runs only if it is named:

.venv/bin/python -m pytest -q -n 0 tests/releases/write.py
"""

from datetime import UTC, datetime

from bson import ObjectId
from django.contrib.auth.models import Group, User

from api.rights import tokens
from api.rights.scopes import Scope
from cms import __version__
from cms.testing.build import PAST, node, nonce, save
from cms.testing.photos import jpeg, send, upload
from marginalia.comments.backends import backend
from marginalia.comments.notices import subscriptions
from marginalia.comments.operations import maintenance
from marginalia.comments.posting import flags, services
from marginalia.comments.types import Comment, CommentAuthor, Order, Target, TermKind
from marginalia.tasks import worker
from nodes.selectors import editable_nodes, stored_photos
from nodes.services import drafts, manual_redirects, ordering, saved_filters, tags, trash, working_copies
from nodes.services.site import save_settings
from nodes.types import Actor
from photos import addresses
from photos.services import photos
from tests.releases import dumps

LATER = datetime(2100, 1, 1, tzinfo=UTC)
LAYOUTS = ("documents", "buckets", "embedded")


def test_dump_is_written(mongo, rules):
    pages = build()
    worker.tend()
    worker.follow()
    assert dumps.write(mongo, __version__, pages).stat().st_size < 500_000


def build() -> dumps.Pages:
    """Create a site with documents of all kinds, and return the texts on its pages."""
    ann = User.objects.create_superuser("ann", "ann@example.org", "pw", first_name="Ann", last_name="Brown")
    bob = User.objects.create_user("bob", "bob@example.org", "pw", is_staff=True)
    bob.groups.add(Group.objects.get(name="Editors"))
    tokens.create(ann, "Script", list(Scope))
    actor = Actor(ann.pk, "Ann Brown")
    photo, pages = build_photos(actor)
    pages |= build_pages(actor, photo) | build_posts(actor, photo)
    discussed = node("blog", "discussions", title="Discussions")
    for layout in LAYOUTS:
        pages |= build_discussion(discussed, layout)
    backend().bans.add(TermKind.LINK_DOMAIN, "casino.example", reason="A wave", by="", expires=None)
    manual_redirects.save(actor, "/old", "/news", None)
    tags.describe("paper", "Sheets and rolls.", None)
    tags.rename("ink", "inks", None)
    saved_filters.save(ann.pk, "node", "Live posts", "state=live")
    values = [("title", "Unsaved")]
    working_copies.store(ann.pk, ObjectId(), 1, values, type="blog-entry", node_id=None, editor="Ann Brown")
    save_settings({"name": "A small site", "tagline": "For tests"}, {"name": "Marginalia", "tagline": ""})
    return pages | {"/": ["A small site"], "/tag/paper": ["Sheets and rolls.", "Layout buckets"]}


def build_photos(actor: Actor) -> tuple[ObjectId, dumps.Pages]:
    """Create photos and a file. Return the id of a photo, and the pages."""
    lakes = node("gallery", "lakes", title="Lakes", summary="Water and light.")
    photo_id = upload(lakes, jpeg(120, 90), "lake.jpg", title="Lake", tags=("water",))
    replaced = upload(lakes, jpeg(90, 60), "hill.jpg", title="Hill")
    replacement = photos.Replacement(actor, replaced, "hill-2.jpg")
    send(replacement, jpeg(90, 120))
    replacement.finish()
    library = upload(None, jpeg(60, 60), "stone.jpg", title="Stone")
    file_upload = photos.FileUpload(actor, None, "notes.txt", fields={"published": PAST})
    send(file_upload, b"Notes about ink.")
    file_id = file_upload.finish().id
    photo = stored_photos.get(photo_id)
    cropped = {"detail.crop": [0.1, 0.1, 0.8, 0.8], "detail.rotation": 90, "detail.focal": [0.5, 0.2]}
    photos.save(actor, replaced, stored_photos.get(replaced).metadata.nonce, cropped)
    return photo_id, {
        "/lakes": ["Water and light.", "Lake", "Hill"],
        "/lakes/lake": ["Lake"],
        "/lakes/hill": ["Hill"],
        f"/media/{library}": ["Stone"],
        f"/media/file/{file_id}/notes.txt": ["Notes about ink."],
        addresses.original_path(photo): [],
    }


def build_pages(actor: Actor, photo: ObjectId) -> dumps.Pages:
    """Create folders and pages, and return the pages that readers see."""
    guide = node("folder", "guide", title="Guide", text="What is in this guide.")
    start = node(slug="start", parent=guide, title="Start here", text="First words.")
    save(start, nonce(start), detail__text=f"First words, and [a photo](photo:{photo}).")
    for slug in ("b", "a"):
        node(slug=slug, parent=guide, title=f"Page {slug}")
    ordering.sort_by_name(guide)
    ordering.move_to_start(guide, start)
    moved = node("folder", "moved", title="Moved")
    node(slug="inside", parent=moved, title="Inside", text="In a section that has moved.")
    save(moved, nonce(moved), slug="here")
    text = f":::note{{kind=tip}}\nA note.\n:::\n\n::photo{{photo=photo:{photo} caption=Water}}\n\n::posts{{count=3}}"
    node(slug="inserts", title="Inserts", text=text)
    node("author", "ann", title="Ann Brown", text="Ann writes about ink.", **{"detail.names": ["A. Brown"]})
    trashed = node(slug="gone", title="Gone")
    trash.trash(actor, trashed, nonce(trashed))
    return {
        "/guide": ["What is in this guide.", "Start here", "Page a"],
        "/guide/start": ["First words, and", "/lakes/lake"],
        "/here/inside": ["In a section that has moved."],
        "/inserts": ["A note.", "Water"],
        "/ann": ["Ann writes about ink."],
    }


def build_posts(actor: Actor, photo: ObjectId) -> dumps.Pages:
    """Create a blog with posts in all states, and return the pages that readers see."""
    blog = node("blog", "news", title="News")
    signed = {"author": {"_id": actor.id, "name": actor.name}}
    text = "A post about *oak galls*, with a note.[^1]\n\n[^1]: A footnote."
    post = node("blog-entry", "galls", parent=blog, title="Oak galls", text=text, tags=("ink",), **signed)
    save(post, nonce(post), summary="How ink was made.", detail__picture=photo, detail__is_pinned=True)
    node("blog-entry", "hong-lou-meng", parent=blog, title="红楼梦", text="满纸荒唐言，一把辛酸泪。", tags=("红楼梦",))
    node("blog-entry", "later", parent=blog, title="Later", published=LATER)
    node("blog-entry", "unpublished", parent=blog, title="Unpublished", published=None)
    drafts.save_draft(actor, post, nonce(post), {"title": "Oak galls, revised"})
    scheduled = node("blog-entry", "scheduled", parent=blog, title="Scheduled changes", text="Before the change.")
    drafts.save_draft(actor, scheduled, nonce(scheduled), {"title": "After"})
    drafts.schedule(actor, scheduled, editable_nodes.load(scheduled).draft.nonce, LATER)
    return {
        "/news": ["Oak galls", "How ink was made.", "红楼梦"],
        "/news/galls": ["Oak galls", "A footnote.", "/tag/inks"],
        "/news/hong-lou-meng": ["满纸荒唐言"],
        "/news/scheduled": ["Scheduled changes", "Before the change."],
        "/search?q=oak+gall": ["/news/galls"],
        "/search?q=荒唐": ["/news/hong-lou-meng"],
        "/feed/atom": ["Oak galls"],
    }


def build_discussion(blog: ObjectId, layout: str) -> dumps.Pages:
    """Create a post with comments of all kinds in a layout, and return its page."""
    post = node("blog-entry", layout, parent=blog, title=f"Layout {layout}", tags=("paper",))
    target = Target("nodes.node", str(post))
    count = 0

    def write(name: str, parent: str = "") -> Comment:
        nonlocal count
        count += 1
        source = f"{name} writes *{count}*."
        author = CommentAuthor(name, url="https://example.org/" if count == 1 else "")
        fields = {"author": author, "source": source, "token": f"{layout}-{count}", "parent": parent}
        comment = services.post(target, **fields, email=f"{name.lower()}@example.org").comment
        assert comment
        return comment

    first = write("Bea")
    reply = write("Cy", first.slug)
    write("Di", reply.slug)
    removed = write("Ed")
    write("Fay", removed.slug)
    services.edit(target, first.slug, source="Bea has *edited* this.", rev=first.rev, token="edit")
    services.remove(target, removed.slug)
    author = CommentAuthor("Gil")
    services.hold(target, author=author, source="Gil waits.", token=f"{layout}-held", reasons=["policy: hold-first"])
    flags.flag(reply, "ip_hash:x")
    backend().likes.add(target, reply.slug, "guest:x")
    subscriptions.add(target, first.slug, "bea@example.org")
    services.restrict(target, pinned=reply.slug)
    services.lock_thread(target, reply.slug, locked=True)
    maintenance.convert(target, layout, Order.THREADED if layout == "buckets" else Order.OLDEST)
    return {f"/discussions/{layout}": ["edited", "Cy writes", "Di writes", "Fay writes"]}
