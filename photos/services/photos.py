"""Photos: uploading, replacing, going back, cutting. What nodes do too (tags, trash…) is done by the same code."""

import functools
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from bson import ObjectId
from django.utils.translation import gettext as _
from pymongo.errors import DuplicateKeyError

from marginalia.markup.characters import is_blank
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes import merging
from nodes.collections import ASSET_FILES, ASSETS, REVISIONS, node_filter
from nodes.content import CONTENT, PHOTO, upgrading
from nodes.errors import ChangedSince, IdTaken, NodeError, NodeGone, SlugTaken, TooBusy
from nodes.selectors import slugs, stored_photos
from nodes.services import derived, editing, scope, trash
from nodes.services.site import invalidate
from nodes.services.write import (
    check_id,
    check_place,
    check_ready,
    check_room,
    check_tags,
    compare_and_set,
    insert_revision,
)
from nodes.tags import unique
from nodes.types import NO_TAGS, Actor, Saved, TagChange
from photos import addresses
from photos.assets import contents
from photos.assets.errors import PhotoLocked, UploadLost
from photos.assets.locks import Lock, free_or_stale
from photos.assets.writer import Incoming, Received, Writer, new_id
from photos.services import copies

LONGEST_NAME = 200
# What belongs to the bytes and changes with them.
OF_CONTENT = ("content_type", "filename", "resolution", "size", "sha256", "dhash", "colour", "exif", "crop", "rotation")
# What another picture does not take over: it would cut something else.
UNCUT = {"detail.crop": None, "detail.rotation": None}

change_tags = functools.partial(editing.change_tags, collection=ASSET_FILES)
throw_away = functools.partial(trash.trash, collection=ASSET_FILES)


def save(
    actor: Actor,
    photo_id: ObjectId,
    seen_nonce: ObjectId,
    mine: Mapping[str, Any],
    tags: TagChange = NO_TAGS,
    **options: Any,
) -> Saved:
    """Save as `nodes.services.editing.save` does, and have the worker make the copies of what was cut anew."""
    saved = editing.save(actor, photo_id, seen_nonce, mine, tags, collection=ASSET_FILES, **options)
    photo = stored_photos.get(photo_id) if UNCUT.keys() & set(saved.changed) else None
    if photo:
        copies.put(photo_id, photo.metadata.content_id, addresses.cut(photo))
    return saved


@dataclass(frozen=True)
class Uploaded:
    """A photo whose bytes are all there. `duplicates` are other photos with the very same bytes."""

    id: ObjectId
    nonce: ObjectId
    title: str
    duplicates: tuple[ObjectId, ...] = field(default=())


class Upload:
    """A new photo on its way into a gallery: `feed` it, then `finish` or `abort`.

    Its place is taken at the start, and nothing shows it until the end. Whatever is raised, nothing is left behind. `fields`
    are further fields by path ("detail.alt", "published"…); without a title the file's name serves. `photo_id`: an id that no
    photo has nor any upload under way, chosen beforehand.

    Raises InvalidPlace, IdTaken, SlugTaken (only for a slug that was asked for), InvalidSlug.
    """

    def __init__(
        self,
        actor: Actor,
        gallery_id: ObjectId,
        filename: str,
        *,
        title: str = "",
        slug: str = "",
        fields: Mapping[str, Any] | None = None,
        tags: tuple[str, ...] = (),
        photo_id: ObjectId | None = None,
    ) -> None:
        check_place(gallery_id, PHOTO)
        check_room(gallery_id)
        if photo_id is not None:
            check_id(photo_id, photo=True)
            if database()[ASSET_FILES].find_one({"_id": photo_id}, {"_id": 1}):
                raise IdTaken(photo_id)
        self._actor = actor
        self._filename = file_name(filename)
        self._fields = dict(fields or {})
        self.id = photo_id or new_id()
        self.title = _title(self._filename) if is_blank(title) else title
        self._wanted = slugs.normalized(slug)
        check_tags(tags)
        if self._wanted:
            slugs.check(self._wanted, gallery_id)
        self._begin(gallery_id, tags)
        self._incoming = Incoming(self._writer, self._filename)

    def _begin(self, gallery_id: ObjectId, tags: tuple[str, ...]) -> None:
        wanted = self._wanted
        moment = now()
        metadata: dict[str, Any] = {
            "nonce": ObjectId(),
            "type": PHOTO,
            "parent_id": gallery_id,
            "slug": wanted,
            "title": self.title,
            "created": moment,
            "updated": moment,
            "published": None,
            "expires": editing.NEVER,
            "author": self._actor.as_document(),
            "tags": sorted(unique(tags)),
            "summary": "",
            "content_id": None,
            "detail": {"filename": self._filename, "alt": "", "focal": None},
            **upgrading.version_fields(PHOTO),
        }
        for _attempt in range(editing.ATTEMPTS):
            metadata["slug"] = wanted or slugs.free(self.title, gallery_id, ASSET_FILES)
            place = {"metadata.parent_id": gallery_id, "metadata.slug": metadata["slug"]}
            try:
                self._writer = Writer(ASSETS, self.id, self._filename, metadata, place=place)
            except DuplicateKeyError as error:
                if wanted:
                    raise SlugTaken(wanted, slugs.free(wanted, gallery_id, ASSET_FILES)) from error
                continue
            return
        raise TooBusy

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises BadPicture, UploadLost."""
        self._incoming.feed(data)

    def finish(self, fields: Mapping[str, Any] | None = None, tags: tuple[str, ...] = ()) -> Uploaded:
        """Judge what came, and make it a photo: a draft unless `fields` say otherwise.

        `fields` and `tags` join those given at the start: a form's other fields may follow its files. Raises BadPicture,
        UploadLost, NotReady, TooBusy.
        """
        self._fields |= fields or {}
        self._typed = str((fields or {}).get("title", ""))
        received = self._incoming.end()
        for _attempt in range(editing.ATTEMPTS):
            stored = self._writer.lock.find({"metadata": 1})
            if stored is None:
                self.abort()
                raise UploadLost
            made = self._made(received) | self._address(stored["metadata"])
            before = stored["metadata"]
            after = {
                **before,
                **merging.nested({**merging.fields(before), **made}),
                "nonce": ObjectId(),
                "locked": None,
            }
            after["tags"] = TagChange(added=frozenset(tags)).applied(before["tags"])
            self._checked(after)
            insert_revision(self.id, None, after, self._actor)
            changes = {f"metadata.{path}": value for path, value in made.items()}
            changes |= {"metadata.tags": after["tags"], "metadata.nonce": after["nonce"], "derived": derived.of(after)}
            try:
                is_done = self._writer.finish(changes, **{"metadata.nonce": before["nonce"]})
            except DuplicateKeyError:
                # Another node took the address that the title asks for.
                continue
            if is_done:
                invalidate(scope.of_new(after))
                copies.put(self.id, self.id)
                return Uploaded(
                    self.id, after["nonce"], after["title"], stored_photos.same_bytes(received.sha256, self.id)
                )
        self.abort()
        raise TooBusy

    def abort(self) -> None:
        """Leave nothing behind."""
        self._incoming.abort()

    def _made(self, received: Received) -> dict[str, Any]:
        # The camera's words are a beginning; what the sender says replaces them.
        words = {"summary": received.picture.description} if received.picture.description else {}
        fields = editing.normalized(self._fields, PHOTO)
        return {**words, **fields, **_of_content(received, self._filename), "content_id": self.id}

    def _address(self, metadata: Mapping[str, Any]) -> dict[str, str]:
        """Return the slug that a title asks for which came after the file; nothing if the slug was asked for itself."""
        if self._wanted or "slug" in self._fields or self._typed in ("", self.title):
            return {}
        return {"slug": slugs.free(self._typed, metadata["parent_id"], ASSET_FILES)}

    def _checked(self, metadata: Mapping[str, Any]) -> None:
        try:
            check_ready(metadata)
        except NodeError:
            self.abort()
            raise


class Replacement:
    """A new content for a photo, on its way: `feed` it, then `finish` or `abort`. The photo shows the old one until the end.

    The photo's identity stays, and with it comments, tags, revisions and address. `seen_nonce`: the version of the photo that
    alone is to be changed. Raises NodeGone; PhotoLocked while another upload to the same photo is alive.
    """

    def __init__(self, actor: Actor, photo_id: ObjectId, filename: str, *, seen_nonce: ObjectId | None = None) -> None:
        self._actor = actor
        self._photo_id = photo_id
        self._filename = file_name(filename)
        self._seen = seen_nonce
        self._lock = _lock(photo_id)
        self.id = new_id()
        metadata = {"type": CONTENT, "parent_id": photo_id, "slug": str(self.id)}
        self._writer = Writer(
            ASSETS, self.id, self._filename, metadata, place=contents.place(photo_id, self.id), also=(self._lock,)
        )
        self._incoming = Incoming(self._writer, self._filename)

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises BadPicture, UploadLost."""
        try:
            self._incoming.feed(data)
        except NodeError:
            self._lock.release()
            raise

    def finish(self) -> Saved:
        """Judge what came, and show it: one compare-and-set on the photo. Raises BadPicture, UploadLost, NodeGone, TooBusy;
        ChangedSince if it is not the version that was seen any more.

        Once it is whole it stays, whatever is raised: an editor may have gone back to it already. The sweeper knows.
        """
        try:
            received = self._incoming.end()
            self._writer.finish()
            detail = UNCUT | _of_content(received, self._filename)
            saved = _show(self._actor, self._photo_id, self.id, detail, self._lock, self._seen)
            copies.put(self._photo_id, self.id)
            return saved
        except NodeError:
            self._lock.release()
            raise

    def abort(self) -> None:
        """Leave nothing behind; the photo stays as it was."""
        self._incoming.abort()
        self._lock.release()


def go_back(actor: Actor, photo_id: ObjectId, content_id: ObjectId) -> Saved:
    """Show a former content again. Raises NodeGone (of the photo or that content), PhotoLocked, TooBusy."""
    former = database()[REVISIONS].find_one(
        {"node_id": photo_id, "metadata.content_id": content_id}, {"metadata": 1}, sort=[("saved_at", -1)]
    )
    if former is None or contents.find(photo_id, content_id) is None:
        raise NodeGone(content_id)
    said = merging.fields(former["metadata"])
    detail = {f"detail.{name}": said.get(f"detail.{name}") for name in OF_CONTENT}
    lock = _lock(photo_id)
    try:
        if content_id != photo_id:
            _keep(photo_id, content_id)
        return _show(actor, photo_id, content_id, detail, lock)
    except NodeError:
        lock.release()
        raise


def _keep(photo_id: ObjectId, content_id: ObjectId) -> None:
    """Keep a former content from the sweeper, before the photo shows it. Raises NodeGone if the sweeper was first.

    The sweeper marks only what was superseded when it says it was: one of the two finds nothing. The grace of a content that
    is kept and then not shown begins anew.
    """
    kept = database()[ASSET_FILES].update_one(
        {**contents.selector(photo_id, content_id), "metadata.doomed": None}, {"$unset": {"metadata.superseded": ""}}
    )
    if not kept.matched_count:
        raise NodeGone(content_id)


def _show(
    actor: Actor,
    photo_id: ObjectId,
    content_id: ObjectId,
    detail: Mapping[str, Any],
    lock: Lock,
    seen: ObjectId | None = None,
) -> Saved:
    """Make a whole content the one that the photo shows, if the lock is still ours, and the photo what was `seen`.

    The nonce is in the filter, so that history has every save, and new, so that what was kept under the old one is not shown
    again. Raises NodeGone, UploadLost, ChangedSince, TooBusy.
    """
    files = database()[ASSET_FILES]
    for _attempt in range(editing.ATTEMPTS):
        stored = files.find_one({"_id": photo_id, **node_filter(ASSET_FILES)}, {"metadata": 1})
        if stored is None:
            raise NodeGone(photo_id)
        if stored["metadata"]["locked"] != lock.moment:
            raise UploadLost
        if seen not in (None, stored["metadata"]["nonce"]):
            raise ChangedSince(photo_id)
        if content_id == photo_id and stored["metadata"].get("doomed"):
            raise NodeGone(content_id)
        changes = {**detail, "content_id": content_id, "locked": None}
        former = stored["metadata"]["content_id"]
        if former == photo_id != content_id:
            changes["superseded"] = now()
        # The first content's mark is on the photo itself.
        still = {"metadata.locked": lock.moment} | ({"metadata.doomed": None} if content_id == photo_id else {})
        nonce = compare_and_set(actor, stored, changes, more_filter=still)
        if nonce is None:
            continue
        _mark_superseded(photo_id, former, content_id)
        return Saved(photo_id, nonce, tuple(changes))
    raise TooBusy


def _mark_superseded(photo_id: ObjectId, former: ObjectId, shown: ObjectId) -> None:
    """Note since when a former content has been shown no more: from then its grace runs. The sweeper notes what we miss."""
    files = database()[ASSET_FILES]
    if former not in (photo_id, shown):
        files.update_one(contents.selector(photo_id, former), {"$set": {"metadata.superseded": now()}})
    files.update_one(
        {**contents.selector(photo_id, shown), "metadata.superseded": {"$exists": True}},
        {"$unset": {"metadata.superseded": ""}},
    )


def _lock(photo_id: ObjectId) -> Lock:
    """Take the photo's lock. Raises NodeGone; PhotoLocked while a living upload holds it."""
    moment = now()
    files = database()[ASSET_FILES]
    # By _id alone: a rename must not lose the lock.
    photo = {"_id": photo_id, **node_filter(ASSET_FILES)}
    done = files.update_one({**photo, **free_or_stale(moment)}, {"$set": {"metadata.locked": moment}})
    if not done.matched_count:
        if files.find_one(photo, {"_id": 1}) is None:
            raise NodeGone(photo_id)
        raise PhotoLocked
    return Lock(files, {"_id": photo_id}, moment)


def _of_content(received: Received, filename: str) -> dict[str, Any]:
    """Return the fields, by path, that belong to the bytes."""
    picture = received.picture
    return {
        "detail.content_type": picture.content_type,
        "detail.filename": filename,
        "detail.resolution": list(picture.size),
        "detail.size": received.length,
        "detail.sha256": received.sha256,
        "detail.dhash": picture.dhash,
        "detail.colour": picture.colour,
        "detail.exif": picture.exif,
    }


def file_name(given: str) -> str:
    """Return the last part of a file's name as a sender gave it, without what no file system takes."""
    name = PurePath(given.replace("\\", "/")).name
    kept = "".join(c for c in unicodedata.normalize("NFC", name) if c.isprintable() and c not in '<>:"/\\|?*')
    stem, dot, extension = kept.strip(" .").rpartition(".")
    if not dot:
        return (extension or _("photo"))[:LONGEST_NAME]
    return f"{stem[: LONGEST_NAME - 20]}.{extension[:19]}"


def _title(filename: str) -> str:
    return PurePath(filename).stem.replace("_", " ").strip() or filename
