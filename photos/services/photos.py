"""Services for photos: upload, replace, restore a former content, crop.

The services of nodes change their tags and trash.
"""

import functools
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from bson import ObjectId
from django.utils.translation import gettext as _
from pymongo.errors import DuplicateKeyError

from marginalia.markup.characters import is_blank
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes import merging
from nodes.collections import ASSET_FILES, ASSETS, REVISIONS, node_filter
from nodes.content import CONTENT, PHOTO
from nodes.errors import ChangedSince, IdTaken, NodeError, NodeGone, SlugTaken
from nodes.selectors import slugs, stored_photos
from nodes.services import derived, editing, rules, scope, trash
from nodes.services.retrying import retry_compare_and_set
from nodes.services.site import invalidate
from nodes.services.write import compare_and_set, insert_revision, new_metadata
from nodes.types import Actor, Change, Saved, TagChange
from photos.assets import contents
from photos.assets.errors import PhotoLocked, UploadLost
from photos.assets.locks import Lock, free_or_stale_filter
from photos.assets.writer import IncomingPhoto, ReceivedPhoto, Writer, new_id
from photos.services import copies

MAX_NAME_LENGTH = 200
# Fields of the detail that belong to the bytes and change with them.
CONTENT_FIELDS = (
    "content_type",
    "filename",
    "resolution",
    "size",
    "sha256",
    "dhash",
    "colour",
    "exif",
    "crop",
    "rotation",
)
# A replacement resets crop and rotation, because they would show another part of the new picture.
NO_CUT = {"detail.crop": None, "detail.rotation": None}

save = functools.partial(editing.save, collection=ASSET_FILES)
move_to_trash = functools.partial(trash.trash, collection=ASSET_FILES)


Result = TypeVar("Result")


@dataclass(frozen=True)
class Uploaded:
    """A completed upload. `duplicates` contains the ids of other photos with the same bytes."""

    id: ObjectId
    nonce: ObjectId
    title: str
    duplicates: tuple[ObjectId, ...] = field(default=())


class IncomingFile(ABC, Generic[Result]):
    """A file that is being received. Call `feed` with its bytes, then `finish` or `abort`.

    Or call `write` with all of them.
    """

    @abstractmethod
    def feed(self, data: bytes) -> None:
        """Store the next bytes.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
            UploadLost: The upload was swept because it had stalled, or another upload owns the lock.
        """

    @abstractmethod
    def finish(self) -> Result:
        """Check the received file and show it."""

    @abstractmethod
    def abort(self) -> None:
        """Delete everything of an unfinished file. After `finish`, do nothing."""

    def write(self, pieces: Iterable[bytes]) -> Result:
        """Store a file from its pieces, and show it.

        After an exception of `feed` or `finish`, everything is deleted.
        """
        try:
            for piece in pieces:
                self.feed(piece)
            return self.finish()
        finally:
            self.abort()


class Upload(IncomingFile[Uploaded]):
    """An upload of a new photo into a gallery.

    The slug is reserved at the start, but the photo stays invisible until the end. After an exception, nothing is left
    behind.

    Args:
        actor: The author of the change.
        gallery_id: The gallery.
        filename: The name of the file.
        title: The title, or "" to use the name of the file.
        slug: The slug, or "" to make it from the title.
        fields: Further fields by path, such as "detail.alt" and "published".
        tags: The tags.
        photo_id: An id that the caller chose, and that no photo and no other upload has.

    Raises:
        InvalidPlace: The gallery can't contain the photo.
        IdTaken: The id belongs to another document.
        InvalidSlug: The slug can't be part of a URL, or is reserved.
        SlugTaken: Another photo of the gallery has the slug. Raised only for an explicit slug.
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
        check_destination(gallery_id, slug)
        if photo_id is not None:
            rules.check_id(photo_id, photo=True)
            if database()[ASSET_FILES].find_one({"_id": photo_id}, {"_id": 1}):
                raise IdTaken(photo_id)
        self._actor = actor
        self._filename = clean_filename(filename)
        self._fields = dict(fields or {})
        self.id = photo_id or new_id()
        self.title = title_of(title, filename)
        self._explicit_slug = slugs.normalized(slug)
        self._insert(gallery_id, tags)
        self._incoming = IncomingPhoto(self._writer, self._filename)

    def _insert(self, gallery_id: ObjectId, tags: tuple[str, ...]) -> None:
        slug = self._explicit_slug
        metadata = new_metadata(self._actor, PHOTO, parent_id=gallery_id, slug=slug, title=self.title, tags=tags)
        metadata |= {"content_id": None, "detail": {"filename": self._filename, "alt": "", "focal": None}}

        def attempt() -> Writer | None:
            metadata["slug"] = slug or slugs.find_free(self.title, gallery_id, ASSET_FILES)
            place = {"metadata.parent_id": gallery_id, "metadata.slug": metadata["slug"]}
            try:
                return Writer(ASSETS, self.id, self._filename, metadata, place=place)
            except DuplicateKeyError as error:
                if slug:
                    raise SlugTaken(slug, slugs.find_free(slug, gallery_id, ASSET_FILES)) from error
                return None

        self._writer = retry_compare_and_set(attempt)

    def feed(self, data: bytes) -> None:
        self._incoming.feed(data)

    def finish(self, fields: Mapping[str, Any] | None = None, tags: tuple[str, ...] = ()) -> Uploaded:
        """Check the received file and complete the photo. It is a draft unless `fields` publish it.

        `fields` and `tags` are added to those of the constructor, because other fields of a form can follow its files.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
            UploadLost: The upload was swept because it had stalled, or another upload owns the lock.
            NotReady: The node lacks something that publishing requires.
            FieldRefused: A value can't be stored.
            TooBusy: Other writers kept changing the node.
        """
        self._fields |= fields or {}
        self._late_title = str((fields or {}).get("title", ""))
        received = self._incoming.end()
        try:
            return retry_compare_and_set(lambda: self._complete(received, tags))
        except NodeError:
            self.abort()
            raise

    def _complete(self, received: ReceivedPhoto, tags: tuple[str, ...]) -> Uploaded | None:
        """Complete the stored photo. Returns None if it changed meanwhile, or if its slug was taken."""
        stored = self._writer.lock.find({"metadata": 1})
        if stored is None:
            raise UploadLost
        values = self._values(received) | self._new_slug(stored["metadata"])
        before = stored["metadata"]
        after = {**before, **merging.nested({**merging.fields(before), **values}), "nonce": ObjectId(), "locked": None}
        after["tags"] = rules.apply_tags(TagChange(added=frozenset(tags)), before["tags"])
        rules.check_ready(after)
        insert_revision(self.id, None, after, self._actor)
        changes = {f"metadata.{path}": value for path, value in values.items()}
        changes |= {"metadata.tags": after["tags"], "metadata.nonce": after["nonce"], "derived": derived.derive(after)}
        try:
            is_done = self._writer.finish(changes, **{"metadata.nonce": before["nonce"]})
        except DuplicateKeyError:
            # Another node has taken the slug that was made from the title.
            return None
        if not is_done:
            return None
        invalidate(scope.of_new(after))
        copies.enqueue(self.id, self.id)
        duplicates = stored_photos.same_bytes(received.sha256, self.id)
        return Uploaded(self.id, after["nonce"], after["title"], duplicates)

    def abort(self) -> None:
        self._incoming.abort()

    def _values(self, received: ReceivedPhoto) -> dict[str, Any]:
        # The camera's description is the default of the summary.
        properties = received.properties
        default = {"summary": properties.description} if properties.description else {}
        fields = editing.normalized(self._fields, PHOTO)
        return {**default, **fields, **_content_fields(received, self._filename), "content_id": self.id}

    def _new_slug(self, metadata: Mapping[str, Any]) -> dict[str, str]:
        """Return the slug made from a title that came after the file, or {} without such a title or with an explicit slug."""
        if self._explicit_slug or "slug" in self._fields or self._late_title in ("", self.title):
            return {}
        return {"slug": slugs.find_free(self._late_title, metadata["parent_id"], ASSET_FILES)}


class Replacement(IncomingFile[Saved]):
    """An upload of a new content for a photo.

    The photo shows the old content until the end. It keeps its id, and so its comments, tags, revisions and URL.

    Args:
        actor: The author of the change.
        photo_id: The photo.
        filename: The name of the new file.
        seen_nonce: The nonce of the only version to replace. None replaces any version.

    Raises:
        NodeGone: The photo no longer exists.
        PhotoLocked: Another upload to the photo is under way.
    """

    def __init__(self, actor: Actor, photo_id: ObjectId, filename: str, *, seen_nonce: ObjectId | None = None) -> None:
        self._actor = actor
        self._photo_id = photo_id
        self._filename = clean_filename(filename)
        self._seen_nonce = seen_nonce
        self._lock = _lock(photo_id)
        self.id = new_id()
        metadata = {"type": CONTENT, "parent_id": photo_id, "slug": str(self.id)}
        place = contents.place_filter(photo_id, self.id)
        self._writer = Writer(ASSETS, self.id, self._filename, metadata, place=place, other_locks=(self._lock,))
        self._incoming = IncomingPhoto(self._writer, self._filename)

    def feed(self, data: bytes) -> None:
        try:
            self._incoming.feed(data)
        except NodeError:
            self._lock.release()
            raise

    def finish(self) -> Saved:
        """Check the received file and show it, with one compare-and-set on the photo.

        After an exception, a complete content is kept, because an editor may have restored it already. The sweeper
        deletes it if it is unused.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
            UploadLost: The upload was swept because it had stalled, or another upload owns the lock.
            NodeGone: The photo no longer exists.
            TooBusy: Other writers kept changing the photo.
            ChangedSince: The photo no longer has the nonce `seen_nonce`.
        """
        try:
            received = self._incoming.end()
            self._writer.finish()
            detail = NO_CUT | _content_fields(received, self._filename)
            saved = _show(self._actor, self._photo_id, self.id, detail, self._lock, self._seen_nonce)
            copies.enqueue(self._photo_id, self.id)
            return saved
        except NodeError:
            self._lock.release()
            raise

    def abort(self) -> None:
        self._incoming.abort()
        self._lock.release()


def check_destination(gallery_id: ObjectId, slug: str = "") -> None:
    """Raise InvalidPlace or InvalidSlug if no photo can be uploaded there.

    Without a slug, one is made from the title.
    """
    rules.check_place(gallery_id, PHOTO)
    rules.check_capacity(gallery_id)
    if normalized := slugs.normalized(slug):
        slugs.check(normalized, gallery_id)


def restore_content(actor: Actor, photo_id: ObjectId, content_id: ObjectId) -> Saved:
    """Show a former content again.

    Raises:
        NodeGone: The photo or the content no longer exists.
        PhotoLocked: Another upload to the photo is under way.
        TooBusy: Other writers kept changing the photo.
    """
    former = database()[REVISIONS].find_one(
        {"node_id": photo_id, "metadata.content_id": content_id}, {"metadata": 1}, sort=[("saved_at", -1)]
    )
    if former is None or contents.find(photo_id, content_id) is None:
        raise NodeGone(content_id)
    former_fields = merging.fields(former["metadata"])
    detail = {f"detail.{name}": former_fields.get(f"detail.{name}") for name in CONTENT_FIELDS}
    lock = _lock(photo_id)
    try:
        if content_id != photo_id:
            _protect(photo_id, content_id)
        return _show(actor, photo_id, content_id, detail, lock)
    except NodeError:
        lock.release()
        raise


def _protect(photo_id: ObjectId, content_id: ObjectId) -> None:
    """Protect a former content from the sweeper before the photo shows it. Raises NodeGone if the sweeper was faster.

    The sweeper's update filters by the `superseded` that it read, so only one of the two updates matches. If a
    protected content isn't shown in the end, its grace period starts again.
    """
    result = database()[ASSET_FILES].update_one(
        {**contents.selector(photo_id, content_id), "metadata.doomed": None}, {"$unset": {"metadata.superseded": ""}}
    )
    if not result.matched_count:
        raise NodeGone(content_id)


def _show(
    actor: Actor,
    photo_id: ObjectId,
    content_id: ObjectId,
    detail: Mapping[str, Any],
    lock: Lock,
    seen_nonce: ObjectId | None = None,
) -> Saved:
    """Make the photo show a complete content.

    This requires that this process still owns the lock, and that the photo still has `seen_nonce` (if given). The
    update filters by the photo's nonce, so that the history contains every save. It sets a new nonce, so that results
    cached under the old one are not used again. Raises NodeGone, UploadLost, ChangedSince, TooBusy.
    """
    files = database()[ASSET_FILES]

    def attempt() -> Saved | None:
        stored = files.find_one({"_id": photo_id, **node_filter(ASSET_FILES)}, {"metadata": 1})
        if stored is None:
            raise NodeGone(photo_id)
        if stored["metadata"]["locked"] != lock.moment:
            raise UploadLost
        if seen_nonce not in (None, stored["metadata"]["nonce"]):
            raise ChangedSince(photo_id)
        if content_id == photo_id and stored["metadata"].get("doomed"):
            raise NodeGone(content_id)
        changes = {**detail, "content_id": content_id, "locked": None}
        former = stored["metadata"]["content_id"]
        if former == photo_id != content_id:
            changes["superseded"] = now()
        # The sweeper marks the first content in the photo's own document.
        condition = {"metadata.locked": lock.moment} | ({"metadata.doomed": None} if content_id == photo_id else {})
        nonce = compare_and_set(actor, stored, Change(changes), more_filter=condition)
        if nonce is None:
            return None
        _mark_superseded(photo_id, former, content_id)
        return Saved(photo_id, nonce, tuple(changes))

    return retry_compare_and_set(attempt)


def _mark_superseded(photo_id: ObjectId, former: ObjectId, shown: ObjectId) -> None:
    """Store when the photo stopped showing the former content. Its grace period starts at this time.

    If this process dies before, the sweeper does the same later.
    """
    files = database()[ASSET_FILES]
    if former not in (photo_id, shown):
        files.update_one(contents.selector(photo_id, former), {"$set": {"metadata.superseded": now()}})
    files.update_one(
        {**contents.selector(photo_id, shown), "metadata.superseded": {"$exists": True}},
        {"$unset": {"metadata.superseded": ""}},
    )


def _lock(photo_id: ObjectId) -> Lock:
    """Acquire the photo's lock. Raises NodeGone, or PhotoLocked while an upload under way owns the lock."""
    moment = now()
    files = database()[ASSET_FILES]
    # The filter contains the _id and not the place, so that the lock stays valid when the photo is renamed.
    photo = {"_id": photo_id, **node_filter(ASSET_FILES)}
    result = files.update_one({**photo, **free_or_stale_filter(moment)}, {"$set": {"metadata.locked": moment}})
    if not result.matched_count:
        if files.find_one(photo, {"_id": 1}) is None:
            raise NodeGone(photo_id)
        raise PhotoLocked
    return Lock(files, {"_id": photo_id}, moment)


def _content_fields(received: ReceivedPhoto, filename: str) -> dict[str, Any]:
    """Return the fields that belong to the bytes, by path."""
    properties = received.properties
    return {
        "detail.content_type": properties.content_type,
        "detail.filename": filename,
        "detail.resolution": list(properties.size),
        "detail.size": received.length,
        "detail.sha256": received.sha256,
        "detail.dhash": properties.dhash,
        "detail.colour": properties.colour,
        "detail.exif": properties.exif,
    }


def clean_filename(path: str) -> str:
    """Return the last part of the path that a client sent, without characters that file systems refuse."""
    name = PurePath(path.replace("\\", "/")).name
    allowed = "".join(c for c in unicodedata.normalize("NFC", name) if c.isprintable() and c not in '<>:"/\\|?*')
    stem, dot, extension = allowed.strip(" .").rpartition(".")
    if not dot:
        return (extension or _("photo"))[:MAX_NAME_LENGTH]
    return f"{stem[: MAX_NAME_LENGTH - 20]}.{extension[:19]}"


def title_of(title: str, filename: str) -> str:
    """Return the title of a new photo, which is the name of its file by default."""
    if not is_blank(title):
        return title
    name = clean_filename(filename)
    return PurePath(name).stem.replace("_", " ").strip() or name
