"""A site in use before it moved to a cluster.

Services write a small site, and many comments and photos are added as posting and uploading would store them.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from bson import Int64, ObjectId
from django.conf import settings
from django.test import override_settings
from pymongo.database import Database

from cms.testing.build import node
from cms.testing.database import MIGRATED
from marginalia.comments.backends import backend
from marginalia.comments.backends.discussions import new_document
from marginalia.comments.backends.stored import comment_document, content_document
from marginalia.comments.posting import ip_hash
from marginalia.comments.types import CommentAuthor, NewComment, Order, Target
from marginalia.mongo.connection import batched, database
from photos.assets import contents, renditions
from photos.assets.renditions import Spec
from photos.assets.writer import new_id
from tests.support.comments.making import new
from tests.support.nodes import photo_build
from tests.support.spreading import moments

Stored = dict[str, Any]
DISCUSSIONS, EACH, PHOTOS = 2_500, 20, 2_000
COMMENTS = DISCUSSIONS * EACH
BATCH = 5_000
FILES, CHUNKS = "cms.assets.files", "cms.assets.chunks"
COPIES, COPY_CHUNKS = "cms.renditions.files", "cms.renditions.chunks"
SPECS = (Spec(320, "webp"), Spec(320, "jpg"))


def load(db: Database[Stored]) -> None:
    """Fill a database with existing collections and indexes. The small site is created in the tests' own database."""
    photo = _small()
    own = database()
    for name in set(own.list_collection_names()) - MIGRATED:
        if found := list(own[name].find()):
            db[name].insert_many(found)
    begun = [new_document(target, "documents", Order.OLDEST, 100) for target in targets(DISCUSSIONS)]
    for batch in batched((comment for one in begun for comment in _comments(one)), BATCH):
        db["comments"].insert_many(batch, ordered=False)
    db["discussions"].insert_many(begun, ordered=False)
    for batch in batched(_photos(own, photo), BATCH):
        for name in (FILES, CHUNKS, COPIES, COPY_CHUNKS):
            if found := [document for where, document in batch if where == name]:
                db[name].insert_many(found, ordered=False)


def targets(count: int) -> list[Target]:
    """Return posts of ten years, whose discussions get comments."""
    return [Target("nodes.node", str(ObjectId.from_datetime(moment))) for moment in moments(count)]


def _small() -> ObjectId:
    """Create a blog, a gallery with a photo and its copies, and discussions in documents and buckets.

    Return the photo's id.
    """
    blog, photos = node("blog", "news"), photo_build.gallery()
    photo = photo_build.upload(photos)
    source = contents.find(photo, photo)
    assert source
    for spec in SPECS:
        renditions.get_or_make(source, "image/jpeg", spec)
    posts = [
        node("blog-entry", f"post-{n}", parent=blog, tags=("water",), text=f"Water ![](photo:{photo})")
        for n in range(3)
    ]
    for (layout, order), post in zip((("documents", "oldest"), ("buckets", "threaded")), posts, strict=False):
        kept = {**settings.COMMENTS, "TARGETS": {"nodes.node": {"LAYOUT": layout, "ORDER": order}}}
        with override_settings(COMMENTS=kept):
            target = Target("nodes.node", str(post))
            for n in range(3):
                said = backend().post(target, new(f"{n}")).comment
                ip_hash.record(target, said.slug, "h")
            backend().hold(target, new("held"))
    return photo


def _comments(discussion: Stored) -> Iterator[Stored]:
    """Yield comments of a discussion, a minute apart, and update its document as posting would."""
    posted = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(1, EACH + 1):
        posted += timedelta(minutes=1)
        said = NewComment(CommentAuthor(f"Reader {number}"), "Said before", "<p>Said before</p>", f"{number}")
        own = comment_document(content_document(said), f"{number:016}", number, posted)
        yield {"_id": ObjectId(), "discussion_id": discussion["_id"], "epoch": discussion["epoch"], **own}
    discussion |= {"count": EACH, "last_number": Int64(EACH), "last_posted": posted, "newest": posted}


def _photos(own: Database[Stored], photo: ObjectId) -> Iterator[tuple[str, Stored]]:
    """Yield (collection, document) of photos like an uploaded one: files, copies and the chunks of both."""
    file = own[FILES].find_one({"_id": photo})
    assert file
    chunks = list(own[CHUNKS].find({"files_id": photo}))
    copies = [(copy, list(own[COPY_CHUNKS].find({"files_id": copy["_id"]}))) for copy in own[COPIES].find()]
    for n in range(PHOTOS):
        id = new_id()
        metadata = {**file["metadata"], "slug": f"photo-{n:04}", "content_id": id, "nonce": ObjectId()}
        yield FILES, {**file, "_id": id, "metadata": metadata}
        yield from _pieces(CHUNKS, chunks, id)
        for copy, parts in copies:
            made = new_id()
            yield COPIES, {**copy, "_id": made, "metadata": {**copy["metadata"], "source": id}}
            yield from _pieces(COPY_CHUNKS, parts, made)


def _pieces(name: str, chunks: list[Stored], file_id: ObjectId) -> Iterator[tuple[str, Stored]]:
    for chunk in chunks:
        yield name, {**chunk, "_id": ObjectId(), "files_id": file_id}
