"""A small site with documents of every kind, and all the ways in which a stored document can be damaged."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.datetime_ms import DatetimeMS
from django.contrib.auth import get_user_model
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from pymongo.database import Database

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing.build import EDITOR, node, nonce, save
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo.clock import now
from marginalia.tasks import worker
from nodes.services import drafts, editing, trash
from nodes.types import Actor
from tests.support.nodes.photo_build import gallery, upload

# A time after the year 9999, which Python's datetime can't represent.
BEYOND = DatetimeMS(300_000_000_000_000)
# Codec options that read all documents unchanged, even if they contain times that datetime can't represent.
RAW: CodecOptions[dict[str, Any]] = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)
# The embedded documents in which each field is damaged in turn.
PARTS = ("metadata", "metadata.detail", "metadata.author", "derived", "draft", "draft.metadata", "settings", "author")


@dataclass(frozen=True)
class Damage:
    """A change to one stored document that no service would make."""

    collection: str
    key: Any
    how: str
    path: str
    change: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.collection} {self.key}: {self.how} {self.path}".rstrip()

    def apply(self, db: Database[Any]) -> None:
        update = {"q": {"_id": self.key}, "u": dict(self.change)}
        db.command("update", self.collection, updates=[update], bypassDocumentValidation=True)


@dataclass
class Site:
    """The site's database, the paths of its pages, and the secret of an API token."""

    db: Database[Any]
    pages: list[str] = field(default_factory=list)
    secret: str = ""


def build(db: Database[Any]) -> Site:
    """Create sections of each kind, posts, a draft, photos, comments, and scheduled, trashed and moved pages."""
    admin = get_user_model().objects.create_superuser("root", "root@example.org", "pw")
    actor = Actor(admin.pk, "Ann")
    folder = node("folder", "guide")
    blog = node("blog", "news")
    album = gallery()
    page = node("basic-page", "start", parent=folder, title="Start here", text="Words", tags=("red",))
    for slug in ("one", "two", "three"):
        fields = {"author": {"_id": admin.pk, "name": "Ann"}, "detail.text": f"About {slug} and [a page](node:{page})"}
        node("blog-entry", slug, parent=blog, title=f"Title {slug}", tags=("red", slug), **fields)
    first_post = db["cms.nodes"].find_one({"metadata.slug": "one"})["_id"]
    save(first_post, nonce(first_post), title="Title one again")
    drafts.save_draft(actor, first_post, nonce(first_post), {"summary": "drafted"})
    node("basic-page", "later", parent=folder, published=now() + timedelta(days=9))
    photos = [upload(album, name=f"{name}.jpg", fields={}) for name in ("lake", "hill")]
    second_post = db["cms.nodes"].find_one({"metadata.slug": "two"})["_id"]
    editing.save(EDITOR, second_post, nonce(second_post), {"slug": "second"})
    trashed = node("basic-page", "gone", parent=folder)
    trash.trash(actor, trashed, nonce(trashed))
    target = Target("nodes.node", str(first_post))
    first = services.post(target, author=CommentAuthor("Bea"), source="First", token="t1").comment
    services.post(target, author=CommentAuthor("Cy"), source="Answer", token="t2", parent=first.slug)
    services.post(Target("nodes.node", str(second_post)), author=CommentAuthor("Di"), source="Alone", token="t3")
    services.hold(target, author=CommentAuthor("Ed"), source="Held", token="t4")
    services.hold(target, author=CommentAuthor("Fay"), source="Held too", token="t5")
    site = Site(db, secret=tokens.create(admin, "test", list(Scope))[1])
    worker.tend()
    worker.follow()
    site.pages = [*public_paths(photos), *admin_paths(), *api_paths(first_post)]
    return site


def public_paths(photos: list[ObjectId]) -> list[str]:
    """Return the paths of public pages, feeds and sitemaps."""
    return [
        "/",
        "/guide",
        "/news",
        "/gallery",
        "/guide/start",
        "/news/one",
        "/news/second",
        "/news/two",
        "/news/three",
        "/gallery/lake",
        "/gallery/hill",
        "/feed/atom",
        "/feed/rss",
        "/feed/json",
        "/news/feed/atom",
        "/tag/red",
        "/tag/red/feed/rss",
        "/author/ann",
        "/author/ann/feed/atom",
        "/search?q=title",
        "/search?q=about+page",
        "/search/suggestions?q=ti",
        "/news/archive",
        "/news/archive/2020",
        "/news/archive/2020/1",
        "/media/find",
        "/robots.txt",
        "/sitemap.xml",
        "/comments/mine",
        "/no-such-page",
        "/healthz",
        "/readyz",
    ]


def admin_paths() -> list[str]:
    """Return the paths of the admin's Dashboard and lists, and of the sitemaps of all types."""

    def walk(patterns: list[Any], prefix: str) -> Iterator[str]:
        for pattern in patterns:
            text = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, text)
            elif isinstance(pattern, URLPattern) and "<" not in text and "(" not in text:
                yield f"/{text}"

    excluded = ("log", "password", "jsi18n", "autocomplete", "preview", "decide")
    admin = sorted({path for path in walk(get_resolver().url_patterns, "") if path.startswith("/admin/")})
    filtered = [
        f"{reverse('admin:nodes_node_changelist')}?{query}"
        for query in ("q=title", "type=blog-entry", "tag=red", "state=drafted", "state=live", "state=scheduled")
    ]
    kinds = ("basic-page", "blog-entry", "blog", "folder", "photo")
    sitemaps = [f"/sitemap-{kind}-1.xml" for kind in kinds]
    return [path for path in admin if not any(word in path for word in excluded)] + filtered + sitemaps


def api_paths(node_id: ObjectId) -> list[str]:
    """Return the paths of the API's lists."""
    paths = (
        "authors",
        "changes",
        "nodes",
        "nodes?type=blog-entry",
        "nodes?tag=red",
        "nodes?q=title",
        "nodes?whole=true",
        "nodes?state=all",
        "site",
        "site/settings",
        "tags",
        "tree",
        "comments/pending",
        f"comments/counts?node={node_id}",
        f"nodes/{node_id}/comments",
        "nodes/by-path?path=/news/three",
    )
    return [f"/api/v1/{path}" for path in paths]


def damages(collection: str, document: Mapping[str, Any]) -> Iterator[Damage]:
    """Yield all ways to damage a document: missing, null and wrongly typed fields, and times after the year 9999."""
    key = document["_id"]

    def walk(part: Mapping[str, Any], prefix: str) -> Iterator[Damage]:
        for name, value in part.items():
            path = f"{prefix}{name}"
            if path == "_id":
                continue
            yield Damage(collection, key, "without", path, {"$unset": {path: ""}})
            other = 5 if isinstance(value, str | dict | list | datetime | DatetimeMS | ObjectId) else "five"
            yield Damage(collection, key, "another type in", path, {"$set": {path: other}})
            if isinstance(value, datetime | DatetimeMS):
                yield Damage(collection, key, "year 11,476 in", path, {"$set": {path: BEYOND}})
            if value is not None and path in PARTS:
                yield Damage(collection, key, "null in", path, {"$set": {path: None}})
            if isinstance(value, dict) and path in PARTS:
                yield from walk(value, f"{path}.")

    yield from walk(document, "")
    special: dict[str, dict[str, Any]] = {
        "cms.nodes": {"metadata.type": "no-such-type", "metadata.parent_id": ObjectId(), "metadata.slug": "a/b"},
        "cms.assets.files": {
            "metadata.type": "no-such-type",
            "metadata.parent_id": ObjectId(),
            "metadata.content_id": ObjectId(),
        },
        "comments": {"kind": "no-such-kind", "discussion_id": "nodes.node:nothing"},
        "discussions": {"schema": "no-such-layout", "order": "no-such-order"},
    }
    for path, value in special.get(collection, {}).items():
        yield Damage(collection, key, f"{value} in", path, {"$set": {path: value}})


# Unique fields, which need a different value in each copy.
UNIQUE = ("slug", "hash", "username")


def insert_damaged_copies(db: Database[Any], collection: str, document: Mapping[str, Any]) -> list[Damage]:
    """Insert a copy of a document for each way to damage it, damage the copies, and return the damages."""
    applied = []
    for number, damage in enumerate(damages(collection, document)):
        key = ObjectId() if isinstance(document["_id"], ObjectId) else f"nodes.node:{ObjectId()}"
        copy = {**document, "_id": key}
        if isinstance(document["_id"], dict):
            copy["_id"] = {**document["_id"], "slug": f"former-{number}"}
        if "metadata" in copy:
            copy["metadata"] = {**copy["metadata"], "slug": f"copy-{number}"}
        copy |= {name: f"{copy[name]}{number}" for name in UNIQUE if name in copy}
        if "slug" in copy:
            # The copy's slug must also be valid base32.
            copy["slug"] = document["slug"][:-2] + "".join(chr(ord("a") + digit) for digit in divmod(number, 26))
        db.command("insert", collection, documents=[copy], bypassDocumentValidation=True)
        applied.append(replace(damage, key=copy["_id"]))
        applied[-1].apply(db)
    return applied
